package servicetest

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"payledger/cmd/payledger/command"
)

// commandRow is a row of CONTRACT.md's table of commands and flags.
var commandRow = regexp.MustCompile(`(?m)^\| ([a-z/ -]+?) \| ((?:--[a-z0-9-]+ ?)*) ?\| (yes|no) \|$`)

// flagsOf returns the flags of every command of the program, but for help.
func flagsOf(node *kong.Node, name string, into map[string][]string) {
	for _, child := range node.Children {
		flagsOf(child, strings.TrimSpace(name+" "+child.Name), into)
	}
	if len(node.Children) > 0 {
		return
	}
	flags := []string{}
	for _, flag := range node.Flags {
		if flag.Name != "help" {
			flags = append(flags, "--"+flag.Name)
		}
	}
	slices.Sort(flags)
	into[name] = flags
}

// TestContractSaysWhichCommands checks that CONTRACT.md has yes for exactly the commands and flags
// of the program, in the table of the section "What is built". The table has a row for every
// command and flag that I1 describes.
func TestContractSaysWhichCommands(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../httpapi/CONTRACT.md")
	if err != nil {
		t.Fatal(err)
	}
	contract := string(text)
	parser, err := kong.New(&command.CLI{})
	if err != nil {
		t.Fatal(err)
	}
	program := map[string][]string{}
	flagsOf(parser.Model.Node, "", program)
	built, known, knownFlags := map[string][]string{}, map[string]bool{}, map[string]bool{}
	for _, m := range commandRow.FindAllStringSubmatch(contract, -1) {
		command, flags := m[1], strings.Fields(m[2])
		known[command] = true
		for _, flag := range flags {
			knownFlags[flag] = true
		}
		slices.Sort(flags)
		switch {
		case m[3] == "yes":
			built[command] = append([]string{}, flags...)
		case len(flags) == 0 && program[command] != nil:
			t.Errorf("CONTRACT.md says that %s is not built", command)
		default:
			for _, flag := range flags {
				if slices.Contains(program[command], flag) {
					t.Errorf("CONTRACT.md says that %s %s is not built", command, flag)
				}
			}
		}
	}
	for _, command := range slices.Sorted(maps.Keys(program)) {
		if !slices.Equal(built[command], program[command]) {
			t.Errorf("%s has %v, CONTRACT.md says %v", command, program[command], built[command])
		}
		delete(built, command)
	}
	const script = "deploy/local-cluster" // a test in its folder compares its flags
	if info, err := os.Stat("../../../" + script); (err == nil && info.Mode()&0o111 != 0) != (built[script] != nil) {
		t.Errorf("%s is there: %v, CONTRACT.md says built: %v", script, err == nil, built[script])
	}
	delete(built, script)
	if len(built) > 0 {
		t.Errorf("CONTRACT.md says that %v are built", built)
	}
	describedAreKnown(t, contract, known, knownFlags)
}

var (
	describedCommands = regexp.MustCompile("(?m)^\\| (`(?:[^|\\\\]|\\\\.)+`) \\|")
	commandName       = regexp.MustCompile("`([a-z-]+(?: (?:reset|create|list|show|tail))?)")
	describedFlag     = regexp.MustCompile(`--[a-z][a-z0-9-]+`)
)

// describedAreKnown checks that the table has every command and flag that I1 describes.
func describedAreKnown(t *testing.T, contract string, known, flags map[string]bool) {
	t.Helper()
	_, section, _ := strings.Cut(contract, "\n## I1")
	section, _, _ = strings.Cut(section, "\n## ")
	commands := 0
	for _, row := range describedCommands.FindAllStringSubmatch(section, -1) {
		for _, m := range commandName.FindAllStringSubmatch(row[1], -1) {
			commands++
			if !known[m[1]] {
				t.Errorf("I1 describes %s, and CONTRACT.md does not say whether it is built", m[1])
			}
		}
	}
	for _, flag := range describedFlag.FindAllString(section, -1) {
		if !flags[flag] && flag != "--version" {
			t.Errorf("I1 describes %s, and CONTRACT.md does not say whether it is built", flag)
		}
	}
	if commands < 20 {
		t.Errorf("I1 describes only %d commands", commands)
	}
}
