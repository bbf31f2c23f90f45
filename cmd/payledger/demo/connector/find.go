package connector

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// find returns the file of a program: a name on PATH, or a path. Its error has the command that
// builds a program of the source tree, if the working directory is the tree.
func find(program string) (string, error) {
	if about, err := os.Stat(program); err == nil && about.IsDir() {
		return "", fmt.Errorf("%s is a folder, not a program; this builds and plays it: %s", program, building(program))
	}
	file, err := exec.LookPath(program)
	if err == nil {
		return filepath.Abs(file)
	}
	name := filepath.Base(program)
	folders, _ := filepath.Glob(filepath.Join("deploy", "connectors", "*", name)) // the pattern is valid unless the name is odd
	if len(folders) == 0 {
		folders, _ = filepath.Glob(filepath.Join("deploy", "connectors", name))
	}
	if len(folders) == 0 {
		folders = []string{filepath.Join("deploy", "connectors", "VENDOR", name)}
	}
	return "", fmt.Errorf("%s is no program on PATH and no path of one; in payledger's source tree this builds and plays it: %s", program, building(folders[0]))
}

// building returns the command that builds and plays the program of a folder. The folder of a
// connector is a module; its programs are that folder, or folders in it.
func building(folder string) string {
	module, name, inner := filepath.Clean(folder), filepath.Base(folder), "."
	if filepath.Base(filepath.Dir(filepath.Dir(module))) == "connectors" {
		module, inner = filepath.Dir(module), "./"+name
	}
	return fmt.Sprintf(`go build -C %s -o "$PWD/%s" %s && payledger demo --processor ./%s`, module, name, inner, name)
}
