package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestSettings: the settings of a folder are secret, stay the same, and belong to one cluster at a
// time.
func TestSettings(t *testing.T) {
	dir := t.TempDir()
	s, err := openSettings(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openSettings(dir); err == nil || !strings.Contains(err.Error(), "--data") {
		t.Errorf("a second cluster on the folder: %v", err)
	}
	info, err := os.Stat(filepath.Join(dir, settingsFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%s has the mode %v, %v", settingsFile, info.Mode(), err)
	}
	password := s.NATSPassword
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	if s, err = openSettings(dir); err != nil || s.NATSPassword != password || len(password) < 32 {
		t.Fatalf("the second start has the password %q, the first %q, %v", s.NATSPassword, password, err)
	}
	if got := s.natsURL([]string{"nats://a:1", "nats://b:2"}); got != "nats://payledger:"+password+"@a:1,nats://payledger:"+password+"@b:2" {
		t.Errorf("the URL is %s", got)
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, settingsFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openSettings(dir); err == nil || !strings.Contains(err.Error(), settingsFile) {
		t.Errorf("settings that cannot be read: %v", err)
	}
}

// TestUsage: a wrong command line is status 2 and one line.
func TestUsage(t *testing.T) {
	for _, args := range [][]string{{"--nodes", "0"}, {"--nodes", "10"}, {"--bogus"}, {"extra"}} {
		var out, complaint strings.Builder
		status := run(append([]string{"--programs", t.TempDir()}, args...), strings.NewReader(""), &out, &complaint)
		if status != exitUsage || strings.Count(complaint.String(), "\n") != 1 || out.Len() > 0 {
			t.Errorf("%v exits %d and says %q, %q", args, status, complaint.String(), out.String())
		}
	}
}

// TestContract: CONTRACT.md lists the flags of the command.
func TestContract(t *testing.T) {
	text, err := os.ReadFile("../../httpapi/CONTRACT.md")
	if err != nil {
		t.Fatal(err)
	}
	var help, complaint strings.Builder
	if status := run([]string{"--help"}, strings.NewReader(""), &help, &complaint); status != 0 {
		t.Fatal(complaint.String())
	}
	shown := regexp.MustCompile(`--[a-z-]+`)
	flags := slices.Compact(slices.Sorted(slices.Values(shown.FindAllString(regexp.MustCompile(`(?m)^ .*--help.*$`).ReplaceAllString(help.String(), ""), -1))))
	row := regexp.MustCompile(`(?m)^\| deploy/local-cluster \| (.*) \| yes \|$`).FindStringSubmatch(string(text))
	if row == nil || !slices.Equal(strings.Fields(row[1]), flags) {
		t.Errorf("the command has %v, CONTRACT.md says %v", flags, row)
	}
}
