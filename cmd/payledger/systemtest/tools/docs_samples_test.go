//go:build system

package tools

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"payledger/cmd/payledger/apptest"
	"payledger/domain/childtest"
	"payledger/domain/seedtest"
	"payledger/eventstore/eventstoretest"
)

// samplePrograms have the languages: the place of their example in a page, and for interpreted ones
// the name of a file, and a program that runs the files that it reads of, one after the other.
var samplePrograms = map[string]struct {
	block           int
	program, ending string
	worker          string
}{
	"Go": {block: 1, program: "go"},
	"Node": {2, "node", ".mjs", `
import { createInterface } from "node:readline";
for await (const line of createInterface({ input: process.stdin })) {
  const { file, env } = JSON.parse(line);
  Object.assign(process.env, env);
  try {
    await import(file);
  } catch (error) {
    console.log(error);
  }
  console.log("\u0000");
}`},
	"Python": {3, "python3", ".py", `
import json, os, runpy, sys
for line in sys.stdin:
    job = json.loads(line)
    os.environ.update(job["env"])
    try:
        runpy.run_path(job["file"])
    except Exception as error:
        print(repr(error))
    print("\0", flush=True)`},
}

// TestSamples: the example of every call in Go, Node and Python works against the whole service.
// The languages take turns.
func TestSamples(t *testing.T) {
	t.Parallel()
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	for i, name := range slices.Sorted(maps.Keys(samplePrograms)) {
		l := samplePrograms[name]
		if !seedtest.Turn(i, len(samplePrograms)) {
			continue
		}
		if _, err := exec.LookPath(l.program); err != nil && !apptest.ToolMissing(t, err.Error()) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, dir := apptest.NewReader(t), t.TempDir()
			var run func(operation, text string, mine apptest.Own) sampleRun
			if l.worker == "" {
				built := buildSamples(t, r, dir)
				run = func(operation, _ string, mine apptest.Own) sampleRun {
					replaced, err := json.Marshal(mine)
					if err != nil {
						t.Fatal(err)
					}
					return startSample(t, exec.CommandContext(t.Context(), built, operation, string(replaced)), sampleEnv(mine, r.Key))
				}
			} else {
				run = interpreter(t, dir, l.program, l.ending, l.worker, r.Key)
			}
			eachCall(t, func(operation, path string) {
				_, blocks := r.Page("/docs/calls/" + operation)
				mine := r.Given(operation, path)
				if operation == "receiveProcessorNotification" {
					mine = r.Signed(blocks[0])
				}
				run(operation, mine.Into(blocks[l.block]), mine).check(t, operation)
			})
		})
	}
}

// sampleEnv returns the environment of an example.
func sampleEnv(mine apptest.Own, key string) map[string]string {
	return map[string]string{"PAYLEDGER_API_KEY": key, "CLIENT_TOKEN": mine["CLIENT_TOKEN"], "SIGNATURE": mine["SIGNATURE"], "PYTHONUNBUFFERED": "1"}
}

// interpreter returns a function that runs an example: in one process for all of them, but for
// those that read a stream, which has no end.
func interpreter(t *testing.T, dir, program, ending, worker, key string) func(string, string, apptest.Own) sampleRun {
	t.Helper()
	apptest.WriteClient(t, dir, "worker"+ending, []byte(worker))
	life := context.WithoutCancel(t.Context()) // it ends itself at the end of its input, in Cleanup
	command := childtest.Tied(exec.CommandContext(life, program, filepath.Join(dir, "worker"+ending)))
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	all := startSample(t, command, nil)
	t.Cleanup(func() {
		if err := errors.Join(in.Close(), command.Wait()); err != nil {
			t.Error(err)
		}
	})
	return func(operation, text string, mine apptest.Own) sampleRun {
		file := filepath.Join(dir, operation+ending)
		apptest.WriteClient(t, dir, operation+ending, []byte(text))
		if streams(operation) {
			return startSample(t, exec.CommandContext(t.Context(), program, file), sampleEnv(mine, key))
		}
		job, err := json.Marshal(map[string]any{"file": file, "env": sampleEnv(mine, key)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := in.Write(append(job, '\n')); err != nil {
			t.Fatal(err)
		}
		return sampleRun{lines: all.lines, until: "\x00"}
	}
}

// eachCall runs a function for every call that is no page: those that change how payments are made
// come last.
func eachCall(t *testing.T, do func(operation, path string)) {
	t.Helper()
	paths := apptest.OpenAPI(t).Paths
	for _, late := range []bool{false, true} {
		for _, path := range slices.Sorted(maps.Keys(paths.Map())) {
			if slices.Contains([]string{"/management/settings", "/management/routing", "/management/processors/{name}"}, path) != late {
				continue
			}
			for _, method := range slices.Sorted(maps.Keys(paths.Value(path).Operations())) {
				if operation := paths.Value(path).GetOperation(method); operation.Tags[0] != "Pages" {
					do(operation.OperationID, path)
				}
			}
		}
	}
}

// streams reports whether the answer of a call has no end.
func streams(operation string) bool { return strings.HasPrefix(operation, "stream") }

// sampleRun is an example that runs.
type sampleRun struct {
	command *exec.Cmd // nil: one process runs all
	lines   *bufio.Reader
	until   string // the line that ends its output; "": the output ends
}

func startSample(t *testing.T, command *exec.Cmd, env map[string]string) sampleRun {
	t.Helper()
	childtest.Tied(command)
	command.Env = os.Environ()
	for name, value := range env {
		command.Env = append(command.Env, name+"="+value)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	command.Stderr = command.Stdout
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	return sampleRun{command: command, lines: bufio.NewReader(out)}
}

// check reads the output of an example: the status of a success, and then the answer. The first
// line of a stream's answer is enough.
func (r sampleRun) check(t *testing.T, operation string) {
	t.Helper()
	status, err := r.lines.ReadString('\n')
	answer := ""
	for err == nil && (!streams(operation) || strings.TrimSpace(answer) == "") {
		var line string
		if line, err = r.lines.ReadString('\n'); r.until != "" && strings.TrimRight(line, "\r\n") == r.until {
			break
		}
		answer += line
	}
	if r.command != nil {
		if streams(operation) {
			_ = r.command.Process.Kill()
		}
		if err := r.command.Wait(); err != nil && !streams(operation) {
			t.Errorf("%s: %v", operation, err)
		}
	}
	if status = strings.TrimSpace(status); status != "200" && status != "202" || strings.TrimSpace(answer) == "" {
		t.Errorf("%s is answered %s %s", operation, status, answer)
	}
}

var packageClause = regexp.MustCompile(`(?s)^package main\n(.*)\nfunc main\(\) \{`)

// buildSamples builds one program of all examples in Go, which are unchanged but for the name of
// their function: the program's first argument chooses the call. A transport puts the test's own
// values in place of the examples' ids.
func buildSamples(t *testing.T, r *apptest.Reader, dir string) (program string) {
	t.Helper()
	at := filepath.Join(dir, "samples")
	var calls strings.Builder
	paths := apptest.OpenAPI(t).Paths
	for path, item := range paths.Map() {
		for method, operation := range item.Operations() {
			_, blocks := r.Page("/docs/calls/" + operation.OperationID)
			if len(blocks) < 4 || !packageClause.MatchString(blocks[1]) {
				t.Fatalf("%s %s has the examples %q", method, path, blocks)
			}
			text := packageClause.ReplaceAllString(blocks[1], "package main\n$1\nfunc "+operation.OperationID+"() {")
			apptest.WriteClient(t, at, operation.OperationID+".go", []byte(text))
			fmt.Fprintf(&calls, "\t%q: %s,\n", operation.OperationID, operation.OperationID)
		}
	}
	apptest.WriteClient(t, at, "main.go", []byte(strings.Replace(chooser, "CALLS", calls.String(), 1)))
	apptest.WriteClient(t, at, "go.mod", []byte("module samples\n\ngo 1.24\n"))
	runTool(t, at, "go", "vet", ".")
	runTool(t, at, "go", "build", "-o", "samples", ".")
	return filepath.Join(at, "samples")
}

const chooser = `package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
)

type replaced struct{ *strings.Replacer }

func (r replaced) RoundTrip(q *http.Request) (*http.Response, error) {
	to, err := url.Parse(r.Replace(q.URL.String()))
	if err != nil {
		return nil, err
	}
	q.URL = to
	for name, values := range q.Header {
		q.Header.Set(name, r.Replace(values[0]))
	}
	if q.Body != nil {
		text, err := io.ReadAll(q.Body)
		if err != nil {
			return nil, err
		}
		own := r.Replace(string(text))
		q.Body, q.ContentLength = io.NopCloser(strings.NewReader(own)), int64(len(own))
	}
	return transport.RoundTrip(q)
}

var transport = http.DefaultTransport

func main() {
	var own map[string]string
	if err := json.Unmarshal([]byte(os.Args[2]), &own); err != nil {
		panic(err)
	}
	var pairs []string
	for example, value := range own {
		if example != "CLIENT_TOKEN" && example != "SIGNATURE" {
			pairs = append(pairs, example, value)
		}
	}
	http.DefaultTransport = replaced{strings.NewReplacer(pairs...)}
	calls[os.Args[1]]()
}

var calls = map[string]func(){
CALLS}
`
