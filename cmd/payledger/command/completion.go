package command

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"payledger/cmd/payledger/terminal"
)

// completionCommand prints the lines that make a shell complete commands, flags and values (I1).
type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish,candidates" help:"bash, zsh or fish."`
}

// candidates is the word with which the shells ask for the words that may follow.
const candidates = "candidates"

var completions = map[string]string{
	"bash": `# payledger completion bash >> ~/.bashrc
complete -o default -C 'payledger completion candidates' payledger
`,
	"zsh": `# payledger completion zsh >> ~/.zshrc
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
autoload -Uz bashcompinit && bashcompinit
complete -o default -C 'payledger completion candidates' payledger
`,
	"fish": `# payledger completion fish > ~/.config/fish/completions/payledger.fish
function __payledger_candidates
    set -lx COMP_LINE (commandline --cut-at-cursor --current-process)
    payledger completion candidates
end
complete --command payledger --arguments '(__payledger_candidates)'
`,
}

// Run prints the shell's lines. For candidates it prints the words that may stand at the end of the
// command line in COMP_LINE, which the shell sets.
func (c *completionCommand) Run(std terminal.Streams) error {
	text := completions[c.Shell]
	if c.Shell == candidates {
		line, err := NewLine()
		if err != nil {
			return err
		}
		text = strings.Join(append(following(line.Model.Node, typed()), ""), "\n")
	}
	if _, err := io.WriteString(std.Out, text); err != nil {
		return fmt.Errorf("stdout: %w", err)
	}
	return nil
}

// typed returns the words of the command line up to the cursor, without the program. The last one
// is not complete, and may be empty.
func typed() []string {
	line := os.Getenv("COMP_LINE")
	if at, err := strconv.Atoi(os.Getenv("COMP_POINT")); err == nil && at >= 0 && at < len(line) {
		line = line[:at]
	}
	words := strings.Fields(line)
	if len(words) < 2 || strings.HasSuffix(line, " ") {
		words = append(words, "")
	}
	return words[min(1, len(words)-1):]
}

// following returns the words that may stand in the place of the last one of a command line.
func following(node *kong.Node, words []string) (fitting []string) {
	last := words[len(words)-1]
	var value *kong.Value // that the last word is of
	arguments := 0
	for _, word := range words[:len(words)-1] {
		switch child := childOf(node, word); {
		case value != nil:
			value = nil
		case strings.HasPrefix(word, "-"):
			value = valueOf(node, word)
		case child != nil:
			node, arguments = child, 0
		case word != "help":
			arguments++
		}
	}
	if value == nil && arguments < len(node.Positional) {
		value = node.Positional[arguments]
	}
	var all []string
	switch {
	case strings.HasPrefix(last, "-"):
		for _, group := range node.AllFlags(true) {
			for _, flag := range group {
				all = append(all, "--"+flag.Name)
			}
		}
	case value != nil:
		if value.Enum != "" {
			all = slices.DeleteFunc(value.EnumSlice(), func(v string) bool { return v == "" || v == candidates })
		}
	default:
		for _, child := range node.Children {
			if !child.Hidden {
				all = append(all, child.Name)
			}
		}
	}
	for _, word := range all {
		if strings.HasPrefix(word, last) {
			fitting = append(fitting, word)
		}
	}
	slices.Sort(fitting)
	return slices.Compact(fitting)
}

func childOf(node *kong.Node, name string) *kong.Node {
	for _, child := range node.Children {
		if child.Name == name || slices.Contains(child.Aliases, name) {
			return child
		}
	}
	return nil
}

// valueOf returns what the next word is the value of, if this word is a flag that has one.
func valueOf(node *kong.Node, word string) *kong.Value {
	for _, group := range node.AllFlags(false) {
		for _, flag := range group {
			if word == "--"+flag.Name && !flag.IsBool() && !flag.IsCounter() {
				return flag.Value
			}
		}
	}
	return nil
}
