package command

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"payledger/cmd/payledger/app"
	"payledger/cmd/payledger/terminal"
)

type versionCommand struct{}

// Run prints version, commit, Go and the versions of NATS (I1).
func (versionCommand) Run(std terminal.Streams) error {
	info, _ := debug.ReadBuildInfo() // without build info the version is "unknown"
	_, err := fmt.Fprint(std.Out, VersionText(info))
	return printed(err)
}

// natsModules are the modules whose versions operators of a cluster need.
var natsModules = []string{"github.com/nats-io/nats-server/v2", "github.com/nats-io/nats.go"}

// VersionText returns a name and a value per line, for people and scripts. An unknown value is
// "unknown".
func VersionText(info *debug.BuildInfo) string {
	info = cmp.Or(info, &debug.BuildInfo{})
	version, commit := app.BuildOf(info)
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
