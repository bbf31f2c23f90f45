package app

import (
	"cmp"
	"runtime/debug"
	"slices"
)

// BuildOf returns the version and the commit of a build, or "unknown". info is nil if the build has
// no information.
func BuildOf(info *debug.BuildInfo) (version, commit string) {
	info = cmp.Or(info, &debug.BuildInfo{})
	setting := func(key string) string {
		at := slices.IndexFunc(info.Settings, func(s debug.BuildSetting) bool { return s.Key == key })
		if at < 0 {
			return ""
		}
		return info.Settings[at].Value
	}
	commit = cmp.Or(setting("vcs.revision"), "unknown")
	if setting("vcs.modified") == "true" {
		commit += " (modified)"
	}
	return cmp.Or(info.Main.Version, "unknown"), commit
}
