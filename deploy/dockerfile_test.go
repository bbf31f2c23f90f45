package deploy_test

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
)

// TestDockerfile: the Dockerfile copies the files of modules that go mod download reads before it
// runs it, those of replaced modules too.
func TestDockerfile(t *testing.T) {
	text, err := os.ReadFile("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := strings.Cut(string(text), "\nRUN go mod download\n")
	if !found {
		t.Fatal("the Dockerfile does not download the modules")
	}
	var copied []string
	for line := range strings.Lines(before) {
		words := strings.Fields(line)
		if len(words) < 3 || words[0] != "COPY" {
			continue
		}
		for _, file := range words[1 : len(words)-1] {
			copied = append(copied, path.Join(words[len(words)-1], path.Base(file)))
			if path.Dir(file) != path.Clean(words[len(words)-1]) {
				t.Errorf("%s is copied to another folder, %s", file, words[len(words)-1])
			}
		}
	}
	module, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := modfile.Parse("go.mod", module, nil)
	if err != nil {
		t.Fatal(err)
	}
	folders := []string{"."}
	for _, r := range parsed.Replace {
		if modfile.IsDirectoryPath(r.New.Path) {
			folders = append(folders, r.New.Path)
		}
	}
	var needed []string
	for _, folder := range folders {
		for _, name := range []string{"go.mod", "go.sum"} {
			if _, err := os.Stat(filepath.Join("..", folder, name)); err == nil {
				needed = append(needed, path.Join(folder, name))
			}
		}
	}
	slices.Sort(copied)
	slices.Sort(needed)
	if len(needed) < 2 || !slices.Equal(copied, needed) {
		t.Errorf("the Dockerfile copies %v, and go mod download reads %v", copied, needed)
	}
}
