package options

import (
	"errors"
	"net/url"
	"os"
	"slices"
	"strings"
)

var secretFlags = []string{"--master-key", "--master-key-previous", "--processor-secret", "--processor-token"}

// urlFlags are the flags that hold a URL, which may have a password in it.
var urlFlags = []string{"--nats-url", "--processor", "--processor-url"}

// LivePrefix begins the API keys of production (D2).
const LivePrefix = "plk_live_"

// Arguments are the arguments of the process.
type Arguments []string

// Faults are the secrets that the arguments of a process hold.
func (args Arguments) Faults() (faults []string) {
	for i, arg := range args {
		flag, value, joined := strings.Cut(arg, "=")
		if !joined && i+1 < len(args) {
			value = args[i+1]
		}
		secret := slices.Contains(secretFlags, flag)
		live := flag == "--api-key" && strings.HasPrefix(strings.TrimSpace(value), LivePrefix)
		if !secret && !live && (!slices.Contains(urlFlags, flag) || !holdsPassword(value)) {
			continue
		}
		way := "set PAYLEDGER_" + strings.ToUpper(strings.ReplaceAll(strings.TrimPrefix(flag, "--"), "-", "_"))
		if secret {
			way += " or " + flag + "-file"
		}
		faults = append(faults, flag+" holds a secret, and everybody on the machine can read the arguments of a process: "+way+" instead")
	}
	return faults
}

// Refused returns the error for arguments that hold a secret, or nil, for commands that do not know
// the ledger's environment.
func (args Arguments) Refused() error { return UsageOf(args.Faults()) }

// selecting are the flags that limit a command's reading. With an empty value, as of an unset
// variable, the command would read everything.
var selecting = []string{"--account", "--at", "--from", "--payment", "--to", "--type"}

// DropEmptyVariables removes empty variables of the program from the environment: they count as not
// set, as ${NAME:-} in a file of services means it. Otherwise an empty value would replace a
// default.
func DropEmptyVariables() {
	for _, variable := range os.Environ() {
		if name, value, _ := strings.Cut(variable, "="); value == "" && strings.HasPrefix(name, "PAYLEDGER_") {
			_ = os.Unsetenv(name) // it fails for names that no environment can have
		}
	}
}

// Empty returns the faults of the selecting flags without a value.
func (args Arguments) Empty() (faults []string) {
	for i, arg := range args {
		flag, value, joined := strings.Cut(arg, "=")
		if slices.Contains(selecting, flag) && (joined || i+1 < len(args) && args[i+1] == "") && strings.TrimSpace(value) == "" {
			faults = append(faults, flag+" has no value: give it one, or leave the flag out")
		}
	}
	return faults
}

// Has reports whether a flag is among the arguments.
func (args Arguments) Has(flag string) bool {
	return slices.ContainsFunc(args, func(arg string) bool { return arg == flag || strings.HasPrefix(arg, flag+"=") })
}

// ReadsFolder reports whether a client command reads a stopped server's folder. A flag overrides a
// variable; both of a kind are an error.
func (args Arguments) ReadsFolder(data string) (bool, error) {
	folder, server := args.Has("--data"), args.Has("--url")
	switch {
	case folder && server:
		return false, UsageError{errors.New("--data reads a stopped server's folder and --url a running server: leave one of them out")}
	case folder != server:
		return folder, nil
	case data != "" && os.Getenv("PAYLEDGER_URL") != "":
		return false, UsageError{errors.New("PAYLEDGER_DATA and PAYLEDGER_URL are both set: say with --data or --url which one to read")}
	}
	return data != "", nil
}

// holdsPassword reports whether a URL, or one of a list, has a user or a password. An invalid URL
// with an @ counts as well.
func holdsPassword(text string) bool {
	for part := range strings.SplitSeq(text, ",") {
		u, err := url.Parse(strings.TrimSpace(part))
		if err == nil && u.User != nil || (err != nil || u.Host == "") && strings.Contains(part, "@") {
			return true
		}
	}
	return false
}

// Unset returns an environment without the program's settings: a process that this one starts gets
// its own.
func Unset(environment []string) []string {
	return slices.DeleteFunc(slices.Clone(environment), func(set string) bool { return strings.HasPrefix(set, "PAYLEDGER_") })
}

// WithoutUsers returns a URL, or a list, without users and passwords. If a list holds a password,
// its invalid parts are left out.
func WithoutUsers(text string) string {
	if !holdsPassword(text) {
		return text
	}
	var shown []string
	for part := range strings.SplitSeq(text, ",") {
		if u, err := url.Parse(strings.TrimSpace(part)); err == nil && u.Host != "" {
			u.User = nil
			shown = append(shown, u.String())
		}
	}
	return strings.Join(shown, ",")
}
