package servicetest

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"payledger/cmd/payledger/command"
	"payledger/eventstore/eventstoretest"
)

// harmful are values that a script may hand to a flag by mistake, or an attacker on purpose.
var harmful = map[string]string{
	"not a number": "nan", "infinite": "inf", "negative": "-5", "zero": "0", "empty": "", "huge": strings.Repeat("9", 400), "two lines": "a\r\nX-Evil: 1",
	"NUL": "a\x00b", "script": "javascript:alert(1)", "spaces": "a b  c", "not ASCII": "ключ", "escape": "\x1b[2J", "not UTF-8": "\xff\xfe",
	"separator": "https://a.example;script-src *", "a user": "https://admin:secret@a.example/?x#y", "a port too high": "127.0.0.1:99999",
	"290 years": "2540400h",
}

// everywhere are the harmful values that no flag takes.
var everywhere = []string{"empty", "two lines", "NUL", "escape", "not UTF-8"}

// takes are the other harmful values that a flag takes, by its kind.
var takes = map[string][]string{
	"path":    {"not a number", "infinite", "negative", "zero", "huge", "script", "spaces", "not ASCII", "separator", "a user", "a port too high", "290 years"},
	"text":    {"not a number", "infinite", "negative", "zero", "huge", "script", "spaces", "not ASCII", "separator", "a user", "a port too high", "290 years"},
	"enum":    {},
	"address": {},
	"url":     {},
	"nats":    {"not a number", "infinite", "zero", "290 years"}, // names of hosts
	"origin":  {},
	"process": {},
	"number":  {"zero"},
	"size":    {"zero"},
	"network": {},
}

// kindOf returns the kind of a flag, which the test knows apart from the program; "" for a flag
// that nobody has thought of.
func kindOf(flag *kong.Flag) string {
	switch kind := flag.Target.Type(); {
	case flag.IsBool():
		return "bool"
	case flag.Enum != "":
		return "enum"
	case flag.Tag.Type == "path":
		return "path"
	case kind.String() == "[]netip.Prefix":
		return "network"
	case kind.String() == "limits.Size":
		return "size"
	case kind == reflect.TypeFor[[]time.Duration]() || kind.Kind() == reflect.Pointer || kind.Kind() >= reflect.Int && kind.Kind() <= reflect.Float64:
		return "number"
	}
	switch flag.Name {
	case "listen", "admin-listen", "nats-listen", "sim-listen":
		return "address"
	case "url", "admin-url", "public-url", "processor-url", "simulator", "forward-to", "probe", "yardstick", "peers":
		return "url"
	case "notify-url":
		return "url"
	case "only", "merchant":
		return "text"
	case "processes":
		return "process"
	case "nats-url":
		return "nats"
	case "checkout-frame-ancestors":
		return "origin"
	case "account", "payment", "order", "customer", "path", "api-key", "signing-secret", "processor-secret", "processor-token", "processor-timeout", "master-key", "master-key-previous", "key",
		"origin", "from", "to", "at", "type", "status", "processor", "events", "amount", "currency", "nats-placement-tags", "nats-placement-cluster":
		return "text"
	}
	return ""
}

// TestEveryFlag parses every flag of every command with harmful values. A new flag of no known kind
// fails the test.
func TestEveryFlag(t *testing.T) {
	if eventstoretest.LeftToWholeRun(t) {
		return
	}
	line := cleanLine(t)
	flags := 0
	var walk func(node *kong.Node, path []string)
	walk = func(node *kong.Node, path []string) {
		for _, child := range node.Children {
			walk(child, append(slices.Clone(path), child.Name))
		}
		for _, argument := range node.Positional {
			if argument.Required {
				path = append(path, "01x")
			}
		}
		if len(node.Children) == 0 {
			flags += len(node.Flags)
			harm(t, line, node, path)
		}
	}
	walk(line.Model.Node, nil)
	if flags < 150 {
		t.Errorf("only %d flags", flags)
	}
}

// harm parses a command with harmful values: one value in all flags at once, because one error
// names them all. The parser itself reads some kinds, and ends at the first fault: of these, each
// flag stands alone.
func harm(t *testing.T, line *command.Line, node *kong.Node, path []string) {
	t.Helper()
	var together, alone []*kong.Flag
	for _, flag := range node.Flags {
		switch kindOf(flag) {
		case "":
			t.Errorf("%v --%s is of no known kind: add it to package options (kinds, limitsOf), and here", path, flag.Name)
		case "bool":
		case "enum", "size", "network":
			alone = append(alone, flag)
		default:
			together = append(together, flag)
		}
	}
	for name, value := range harmful {
		try := func(flags []*kong.Flag) {
			args := slices.Clone(path)
			for _, flag := range node.Flags {
				if flag.Required && !slices.Contains(flags, flag) {
					args = append(args, "--"+flag.Name+"="+usual(flag))
				}
			}
			for _, flag := range flags {
				args = append(args, "--"+flag.Name+"="+value)
			}
			_, err := line.Command(args)
			for _, flag := range flags {
				named, must := namesFlag(err, flag.Name), refuses(flag, kindOf(flag), name)
				if must && !named || named && !must && !slices.Contains([]string{"text", "path", "nats"}, kindOf(flag)) && (name != "zero" || kindOf(flag) != "number") {
					t.Errorf("%v --%s=%.40q (%s): %.300v", path, flag.Name, value, name, err)
				}
			}
		}
		if len(together) > 0 {
			try(together)
		}
		for _, flag := range alone {
			try([]*kong.Flag{flag})
		}
	}
}

// namesFlag reports whether an error names a flag.
func namesFlag(err error, flag string) bool {
	if err == nil {
		return false
	}
	for _, part := range strings.Split(err.Error(), "--"+flag)[1:] {
		if part == "" || !strings.Contains("-abcdefghijklmnopqrstuvwxyz", part[:1]) {
			return true
		}
	}
	return false
}

// refuses reports whether a flag must refuse a harmful value. Texts, paths and servers may be
// refused for more reasons, and zero by some numbers.
func refuses(flag *kong.Flag, kind, name string) bool {
	if flag.Name == "admin-url" && name == "empty" {
		return false
	}
	return slices.Contains(everywhere, name) || !slices.Contains(takes[kind], name)
}

// cleanLine returns a command line without the program's settings in the environment.
func cleanLine(t *testing.T) *command.Line {
	t.Helper()
	for _, set := range os.Environ() {
		if name, _, _ := strings.Cut(set, "="); strings.HasPrefix(name, "PAYLEDGER_") {
			t.Setenv(name, "")
			os.Unsetenv(name)
		}
	}
	line, err := command.NewLine()
	if err != nil {
		t.Fatal(err)
	}
	return line
}

// usual returns a value that a required flag takes.
func usual(flag *kong.Flag) string {
	switch {
	case flag.Enum != "":
		first, _, _ := strings.Cut(flag.Enum, ",")
		return first
	case kindOf(flag) == "url":
		return "http://127.0.0.1:1"
	default:
		return "x"
	}
}

// TestAllFaults: one error names all values that are wrong, and of serve those that do not go
// together.
func TestAllFaults(t *testing.T) {
	line := cleanLine(t)
	for words, want := range map[string][]string{
		"serve --rate-limit=nan --public-url=javascript:alert(1) --listen=x --payment-timeout=soon --drain=-5s --shards=-5 --tls-cert=x": {
			"--rate-limit", "--public-url", "--listen", "--payment-timeout", "--drain", "--shards", "--tls-cert",
		},
		"serve --rate-limit=-5":                                {"--rate-limit"},
		"serve --rate-limit=1e400 --client-token-ttl=2540400h": {"--rate-limit", "--client-token-ttl"},
		"bench --rate=inf --concurrency=0 --url=ftp://a":       {"--rate", "--concurrency", "--url"},
		"health --timeout=-1s --probe=//x":                     {"--timeout", "--probe"},
	} {
		_, err := line.Command(strings.Fields(words))
		for _, flag := range want {
			if err == nil || !strings.Contains(err.Error(), flag) {
				t.Errorf("%s: %v", words, err)
			}
		}
	}
	for _, words := range []string{
		"serve --rate-limit=0.5 --public-url=https://pay.example.com/ledger --listen=:8080 --admin-listen=[::1]:0 --nats-url=nats://a:4222,b:4222",
		"serve --checkout-frame-ancestors=https://shop.example.com,http://127.0.0.1:3000 --webhook-allow-cidr=10.0.0.0/8 --memory=1GiB --trusted-proxies=::1/128",
		"bench --admin-url= --rate=100", "export --format=csv --after=0",
	} {
		if _, err := line.Command(strings.Fields(words)); err != nil && !strings.Contains(err.Error(), "MASTER_KEY") {
			t.Errorf("%s: %v", words, err)
		}
	}
	if _, err := line.Command([]string{"erase-customer", "a\nb"}); err != nil {
		t.Errorf("a customer of an older ledger cannot be erased: %v", err)
	}
}

// TestFrameAncestors: what the hosted page would refuse is refused before the folder is made.
func TestFrameAncestors(t *testing.T) {
	t.Parallel()
	for origin, good := range map[string]bool{
		"https://shop.example.com": true, "http://127.0.0.1:3000": true, "https://*.example.com": false, "HTTPS://shop.example.com": false, "https://shop.example.com/": false,
	} {
		line, err := command.NewLine()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := line.Command([]string{"serve", "--checkout-frame-ancestors", origin}); (err == nil) != good {
			t.Errorf("%s: %v", origin, err)
		}
	}
}
