package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"

	"payledger/cmd/payledger/terminal"
)

type versionCommand struct{}

// Run prints version, commit, Go and the versions of NATS (I1).
func (versionCommand) Run(std terminal.Streams) error {
	info, _ := debug.ReadBuildInfo() // without build info the version is "unknown"
	_, err := fmt.Fprint(std.Out, versionText(info))
	return printed(err)
}

// natsModules are the modules whose versions operators of a cluster need.
var natsModules = []string{"github.com/nats-io/nats-server/v2", "github.com/nats-io/nats.go"}

// versionText returns a name and a value per line, for people and scripts. An unknown value is "unknown".
func versionText(info *debug.BuildInfo) string {
	info = cmp.Or(info, &debug.BuildInfo{})
	version, commit := buildOf(info)
	text := fmt.Sprintf("payledger  %s\ncommit     %s\nbuilt with %s %s/%s\n", version, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	for _, path := range natsModules {
		for _, module := range info.Deps {
			if module.Path == path {
				text += module.Path + " " + module.Version + "\n"
			}
		}
	}
	return text
}

// buildOf returns the version and the commit of a build, or "unknown". info is nil if the build has no information.
func buildOf(info *debug.BuildInfo) (version, commit string) {
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
