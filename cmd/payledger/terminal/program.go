package terminal

import (
	"os"
	"path/filepath"
	"regexp"
)

// fromSource is how a reader starts the program without installing it, in the folder of the
// repository.
const fromSource = "go run ./cmd/payledger"

// Program returns the words that started this process, for hints with commands to copy: the name as
// it was typed, or `go run ./cmd/payledger`.
func Program() string { return started(os.Args[0]) }

// cached matches the folder of a program in the build cache of Go.
var cached = regexp.MustCompile(`^[0-9a-f]{64}-d$`)

// started returns Program for the name of a process. `go run` starts a program from a temporary
// folder, go-build…/b001/exe, and from the build cache if it runs again.
func started(name string) string {
	folder := filepath.Dir(name)
	temporary, _ := filepath.Match("go-build*", filepath.Base(filepath.Dir(filepath.Dir(folder))))
	if filepath.Base(folder) == "exe" && temporary || cached.MatchString(filepath.Base(folder)) {
		return fromSource
	}
	return name
}
