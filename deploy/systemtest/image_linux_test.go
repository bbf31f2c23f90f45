//go:build system

package systemtest

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"payledger/domain/childtest"
	"payledger/domain/seedtest"
)

// image is the last stage of the Dockerfile.
type image struct {
	Copies     [][2]string // from the build stage, to the image
	Owned      map[string]string
	User       string
	Volumes    []string
	Env        []string
	Health     []string
	Entrypoint []string
	Command    []string
}

// readImage reads the last stage of the Dockerfile. It fails the test at an instruction that it
// does not know.
func readImage(t *testing.T) (i image) {
	t.Helper()
	text, err := os.ReadFile("../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	_, stage, found := strings.Cut(string(text), "\nFROM scratch\n")
	if !found || strings.Contains(stage, "\nFROM ") {
		t.Fatal("the last stage of the Dockerfile is not FROM scratch")
	}
	list := func(text string) (words []string) {
		if err := json.Unmarshal([]byte(text), &words); err != nil {
			t.Fatalf("%s is no list: %v", text, err)
		}
		return words
	}
	i.Owned = map[string]string{}
	for line := range strings.Lines(stage) {
		line = strings.TrimSpace(line)
		name, rest, _ := strings.Cut(line, " ")
		switch name {
		case "", "#", "EXPOSE", "WORKDIR", "STOPSIGNAL":
		case "COPY":
			words := strings.Fields(strings.TrimPrefix(rest, "--from=build "))
			owner, chowned := strings.CutPrefix(words[0], "--chown=")
			if chowned {
				words = words[1:]
				i.Owned[words[1]] = owner
			}
			i.Copies = append(i.Copies, [2]string{words[0], words[1]})
		case "USER":
			i.User = rest
		case "VOLUME":
			i.Volumes = list(rest)
		case "ENV":
			i.Env = append(i.Env, strings.Fields(rest)...)
		case "HEALTHCHECK":
			_, command, _ := strings.Cut(rest, " CMD ")
			i.Health = list(command)
		case "ENTRYPOINT":
			i.Entrypoint = list(rest)
		case "CMD":
			i.Command = list(rest)
		default:
			t.Fatalf("the test does not know the instruction %s", line)
		}
	}
	return i
}

// builds returns the arguments of the go build command of the Dockerfile, without its -o, and its
// environment.
func builds(t *testing.T) (env, args []string) {
	t.Helper()
	text, err := os.ReadFile("../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^RUN (CGO_ENABLED=0) go build (.*) -ldflags="(.*)" -o /out/payledger (\S+)$`).FindStringSubmatch(string(text))
	if m == nil {
		t.Fatal("the Dockerfile has no static build of payledger")
	}
	return []string{m[1]}, append(strings.Fields(m[2]), "-ldflags="+m[3], m[4])
}

// TestImage builds the binary as the Dockerfile does, and runs it as the image would run: in
// namespaces of its own, with a read-only root that has the image's files and nothing else, not as
// root, without capabilities. The health check fails before the service is ready and succeeds then,
// the demo's story passes, and SIGTERM ends it with status 0. A run of a part of the tests has the
// binary of the other tests, and the libraries that it needs, in the image.
func TestImage(t *testing.T) {
	i := readImage(t)
	root, volume := t.TempDir(), t.TempDir()
	env, args := builds(t)
	binary := filepath.Join(t.TempDir(), "payledger")
	if seedtest.AllParts() {
		inFolder(t, env, "go", append([]string{"build", "-buildvcs=false", "-o", binary}, args...)...)
	} else {
		dynamic(t, env, binary, root)
	}
	for _, c := range i.Copies {
		into := filepath.Join(root, c[1])
		if err := os.MkdirAll(filepath.Dir(into), 0o755); err != nil {
			t.Fatal(err)
		}
		switch c[0] {
		case "/out/payledger":
			if err := os.Rename(binary, into); err != nil {
				t.Fatal(err)
			}
		case "/out/data":
			if err := os.Mkdir(into, 0o755); err != nil || i.Owned[c[1]] != i.User || !slices.Contains(i.Volumes, c[1]) {
				t.Fatalf("%s is of %s, the volumes are %v, %v", c[1], i.Owned[c[1]], i.Volumes, err)
			}
		default:
			if err := os.WriteFile(into, nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	uid, _, _ := strings.Cut(i.User, ":")
	if n, err := strconv.Atoi(uid); err != nil || n < 1000 {
		t.Fatalf("the image runs as %q, which a node cannot tell from root", i.User)
	}
	report := runContained(t, contained{
		Root: root, Volume: volume, At: i.Volumes[0], UID: uid, Env: i.Env,
		Serve: append(slices.Clone(i.Entrypoint), i.Command...), Health: i.Health, Story: append(slices.Clone(i.Entrypoint), "demo", "--once"),
	})
	for what, expected := range map[string]string{
		"user": uid, "capabilities": "0000000000000000", "root": "read-only file system", "health before": "exit status 1", "health": "",
		"story": "", "stop": "",
	} {
		if got := report[what]; got != expected {
			t.Errorf("%s: %q, expected %q", what, got, expected)
		}
	}
}

// dynamic builds the binary as all tests do, because the Dockerfile's way compiles every package a
// second time, and puts the libraries that it needs into the image. Every package has files for the
// Dockerfile's way.
func dynamic(t *testing.T, env []string, binary, root string) {
	t.Helper()
	inFolder(t, env, "go", "list", "-deps", "./cmd/payledger")
	text, err := os.ReadFile(payledger(t))
	if err == nil {
		err = os.WriteFile(binary, text, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(inFolder(t, nil, "ldd", binary), "\n") {
		at := regexp.MustCompile(`/\S+`).FindString(line)
		if at == "" {
			continue
		}
		text, err := os.ReadFile(at)
		if err == nil {
			err = os.MkdirAll(filepath.Join(root, filepath.Dir(at)), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(root, at), text, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// inFolder runs a program in the folder of the module, and returns its output.
func inFolder(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	command := childtest.Tied(exec.Command(name, args...))
	command.Dir, command.Env = "../..", append(os.Environ(), env...)
	said, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", name, err, said)
	}
	return string(said)
}

// runContained runs the test binary as the first process of new namespaces, which reports line by
// line.
func runContained(t *testing.T, c contained) map[string]string {
	t.Helper()
	order, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), asContainer+"="+string(order))
	command.SysProcAttr = namespaces(t, c.UID)
	var said strings.Builder
	command.Stderr = &said
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatalf("namespaces: %v", err)
	}
	t.Cleanup(func() { command.Process.Kill() }) // it may be gone already
	report := map[string]string{}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var line [2]string
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatalf("the container says %q", lines.Text())
		}
		report[line[0]] = line[1]
	}
	if err := command.Wait(); err != nil {
		t.Fatalf("the container: %v\n%s\n%v", err, said.String(), report)
	}
	return report
}
