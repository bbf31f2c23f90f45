package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// guideBlocks returns the blocks of a language in a guide's source.
func guideBlocks(t *testing.T, name, language string) (text string, blocks []string) {
	t.Helper()
	read, err := os.ReadFile("../../httpapi/docs/guides/" + name)
	if err != nil {
		t.Fatal(err)
	}
	indented := regexp.MustCompile(`(?m)^ {3}`) // of a list
	for _, m := range fence.FindAllStringSubmatch(indented.ReplaceAllString(string(read), ""), -1) {
		if m[1] == language {
			blocks = append(blocks, m[2])
		}
	}
	return string(read), blocks
}

// TestGuides checks that the commands of each guide have the described results, in the guide's order and in one shell.
func TestGuides(t *testing.T) {
	t.Parallel()
	p := serveProcess(t, "--data", filepath.Join(t.TempDir(), "data"), "--webhook-allow-cidr", "127.0.0.0/8")
	hooks, _ := receiver(t, p.credentials.SigningSecret)
	tried := 0
	for _, guide := range []string{"first-payment.md", "webhooks.md", "3-d-secure.md"} {
		_, blocks := guideBlocks(t, guide, "sh")
		for i := range blocks {
			blocks[i] = strings.ReplaceAll(blocks[i], "{{url}}", p.ready.API)
		}
		for _, r := range runReadme(t, blocks, "PAYLEDGER_API_KEY="+p.credentials.APIKey, "RECEIVER="+hooks) {
			tried++
			if want, got := promised(r.block), strings.Fields(r.printed); !slices.Equal(got, want) {
				t.Errorf("%s prints %q, not %q:\n%s", guide, got, want, r.block)
			}
			for _, status := range r.statuses {
				if status != "200" {
					t.Errorf("%s: a call is answered %s:\n%s", guide, status, r.block)
				}
			}
		}
	}
	if tried < 15 {
		t.Errorf("only %d blocks were tried", tried)
	}
}

// TestGuideCommands: the program takes every command line of the guides.
func TestGuideCommands(t *testing.T) {
	t.Parallel()
	_, blocks := guideBlocks(t, "going-to-production.md", "text")
	if len(blocks) < 4 {
		t.Fatalf("only %d commands", len(blocks))
	}
	for _, block := range blocks {
		line := strings.Fields(strings.ReplaceAll(block, "\\\n", " "))
		if line[0] != "payledger" {
			t.Errorf("%q is no command line of payledger", block)
		}
		program, err := kong.New(&cli{}, kong.Exit(func(int) {}))
		if err != nil {
			t.Fatal(err)
		}
		for i, word := range line { // files that kong opens
			if strings.HasPrefix(word, "/run/secrets/") || strings.HasSuffix(word, ".pem") {
				line[i] = secretFile(t, strings.Repeat("0a", 32))
			}
		}
		if _, err := program.Parse(line[1:]); err != nil {
			t.Errorf("%q: %v", block, err)
		}
	}
}

// TestGuideCards: the test cards of the first guide are those of the README.
func TestGuideCards(t *testing.T) {
	t.Parallel()
	guide, _ := guideBlocks(t, "first-payment.md", "sh")
	text, _ := readme(t, "sh")
	rows := testCardRow.FindAllString(text, -1)
	if !slices.Equal(testCardRow.FindAllString(guide, -1), rows) || len(rows) < 6 {
		t.Errorf("the guide has other test cards than the README: %q", rows)
	}
}
