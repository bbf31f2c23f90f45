package options

import (
	"fmt"
	"math"
	"net"
	"net/netip"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/alecthomas/kong"
)

// A kind returns what a value must be; "" if the value is right.
type kind func(value string) string

// kinds are the kinds of the texts of flags, by the name of the flag: a name means the same in
// every command. Each text is free of control characters beside that. Paths, enumerations, numbers
// and durations are known by their types.
var kinds = map[string]kind{
	"only": text, "merchant": text, "notify-url": baseURL,
	"listen": address, "admin-listen": address, "nats-listen": address, "sim-listen": address,
	"url": webURL, "admin-url": webURL, "processor-url": baseURL, "simulator": webURL, "forward-to": receiver, "probe": webURL,
	"yardstick": webURL, "peers": webURL, "processes": processID, "nats-url": natsURLs, "checkout-frame-ancestors": origin,

	// The command that takes one of these parses it (publicURL checks public-url).
	"public-url": text,
	"from":       text, "to": text, "at": text, "origin": text, "master-key": text, "master-key-previous": text, "key": text, "amount": text,
	"currency": text, "status": text, "processor": text, "type": text, "events": text,

	// Any text: it is compared, or sent as it is.
	"account": text, "payment": text, "order": text, "customer": text, "path": text, "api-key": text, "signing-secret": text, "processor-secret": text, "processor-token": text, "processor-timeout": text,
	"nats-placement-tags": text, "nats-placement-cluster": text,
}

// mayBeEmpty are the flags for which an empty value says something.
var mayBeEmpty = []string{"admin-url"}

// trimmed are the flags whose values may begin or end with white space: a key in the environment
// often ends with a line feed.
var trimmed = []string{"master-key", "master-key-previous"}

func text(string) string { return "" }

// bounds are the numbers and durations that a flag takes: from least to most.
type bounds struct{ least, most float64 }

const (
	longest = float64(366 * 24 * time.Hour)       // of a wait
	forever = float64(100 * 365 * 24 * time.Hour) // of a retention
	most    = 1_000_000                           // connections, requests a second, and the like
)

// checked is the least value of flags whose least value Check knows.
var checked = math.Inf(-1)

// limitsOf are the bounds of numbers and durations, by the name of the flag.
var limitsOf = map[string]bounds{
	"payment-timeout": {checked, longest}, "action-timeout": {checked, longest}, "client-token-ttl": {checked, longest}, "webhook-timeout": {checked, longest},
	"write-timeout": {checked, longest}, "dispute-lookup": {checked, longest}, "drain": {checked, longest}, "webhook-retry-delays": {checked, longest},
	"delivery-retention": {checked, forever}, "events-retention": {checked, forever},
	"timeout": {1, longest}, "patience": {1, longest}, "duration": {1, longest},
	"shards": {0, 256}, "max-connections": {checked, most}, "max-connections-per-address": {checked, most}, "max-requests": {checked, most},
	"rate-limit": {checked, most}, "rate": {0, most}, "concurrency": {1, 65_536}, "rounds": {1, 1000}, "limit": {0, 1<<31 - 1},
	"nats-replicas": {3, 5}, "after": {0, math.MaxUint64},
}

// Faults returns the faults of all values of the selected command: each value has a kind, and is of
// it.
func (p *Parsing) Faults(parsed *kong.Context, args Arguments) (faults []string) {
	defer clear(p.faults)
	selected := parsed.Selected()
	if selected == nil {
		selected = parsed.Model.Node
	}
	for _, group := range selected.AllFlags(false) {
		for _, flag := range group {
			name := "--" + flag.Name
			if fault := p.faults[flag.Name]; fault != "" {
				faults = append(faults, name+": "+fault)
				continue
			}
			if !flag.IsBool() && !slices.Contains(mayBeEmpty, flag.Name) && !slices.Contains(selecting, name) && args.empty(name) {
				faults = append(faults, name+" has no value: give it one, or leave the flag out")
				continue
			}
			fault := faultOf(flag.Value)
			if slices.ContainsFunc(args.values(name), func(value string) bool { return !utf8.ValidString(value) }) {
				fault = "is not UTF-8" // the parser has replaced the bytes
			}
			if fault != "" {
				faults = append(faults, name+" "+fault)
			}
		}
	}
	for _, argument := range selected.Positional {
		if fault := written(argument.Target); fault != "" && argument.Name != "customer-id" { // an older ledger may have such a customer, to be erased

			faults = append(faults, "the "+argument.Name+" "+fault)
		}
	}
	return faults
}

// empty reports whether a flag stands among the arguments with an empty value.
func (args Arguments) empty(name string) bool { return slices.Contains(args.values(name), "") }

// values returns the values of a flag among the arguments.
func (args Arguments) values(name string) (all []string) {
	for i, arg := range args {
		flag, value, joined := strings.Cut(arg, "=")
		switch {
		case flag != name:
		case joined:
			all = append(all, value)
		case i+1 < len(args):
			all = append(all, args[i+1])
		}
	}
	return all
}

// faultOf returns the fault of a flag's value; "" for none.
func faultOf(flag *kong.Value) string {
	value := flag.Target
	if slices.Contains(trimmed, flag.Name) {
		value = reflect.ValueOf(strings.TrimSpace(value.String()))
	}
	if fault := written(value); fault != "" {
		return fault
	}
	if limits, known := limitsOf[flag.Name]; known {
		return limits.fault(flag)
	}
	check := kinds[flag.Name]
	if check == nil {
		return ""
	}
	for _, value := range texts(flag.Target) {
		if fault := check(value); fault != "" {
			if shown := WithoutUsers(value); shown != "" {
				fault += ", and is " + strconv.Quote(shown)
			}
			return "must be " + fault
		}
	}
	return ""
}

func (b bounds) fault(flag *kong.Value) string {
	for _, n := range numbers(flag.Target) {
		if n >= b.least && n <= b.most {
			continue
		}
		show := func(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
		if strings.Contains(flag.Target.Type().String(), "Duration") {
			show = func(n float64) string { return time.Duration(n).String() }
		}
		if math.IsInf(b.least, 0) {
			return fmt.Sprintf("is %s; it may be at most %s", show(n), show(b.most))
		}
		return fmt.Sprintf("is %s; it must be from %s to %s", show(n), show(b.least), show(b.most))
	}
	return ""
}

// texts returns the texts of a flag's value that are not empty.
func texts(value reflect.Value) (all []string) {
	switch value.Kind() { //nolint:exhaustive // others are no texts
	case reflect.String:
		if value.Len() > 0 {
			all = append(all, value.String())
		}
	case reflect.Slice:
		for i := range value.Len() {
			all = append(all, texts(value.Index(i))...)
		}
	}
	return all
}

func numbers(value reflect.Value) (all []float64) {
	switch {
	case value.CanInt():
		all = append(all, float64(value.Int()))
	case value.CanUint():
		all = append(all, float64(value.Uint()))
	case value.CanFloat():
		all = append(all, value.Float())
	case value.Kind() == reflect.Pointer && !value.IsNil():
		all = numbers(value.Elem())
	case value.Kind() == reflect.Slice:
		for i := range value.Len() {
			all = append(all, numbers(value.Index(i))...)
		}
	}
	return all
}

// written returns the fault of a text with a control character.
func written(value reflect.Value) string {
	for _, text := range texts(value) {
		if i := strings.IndexFunc(text, unicode.IsControl); i >= 0 {
			r, _ := utf8.DecodeRuneInString(text[i:])
			return fmt.Sprintf("has the control character U+%04X", r)
		}
	}
	return ""
}

var hostName = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]{0,251}[A-Za-z0-9_])?\.?$`)

// goodHost reports whether a host is an IP address or a name.
func goodHost(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil || hostName.MatchString(host)
}

func goodPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && strconv.FormatUint(n, 10) == port
}

func address(value string) string {
	host, port, err := net.SplitHostPort(value)
	if err != nil || host != "" && !goodHost(host) || !goodPort(port) {
		return "an address with a port, such as 127.0.0.1:8080"
	}
	return ""
}

// parsedURL returns a URL of visible ASCII characters with a host; false for everything else.
func parsedURL(value string, schemes ...string) (*url.URL, bool) {
	if strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`"<>\^{|}`+"`", r) }) {
		return nil, false
	}
	u, err := url.Parse(value)
	if err != nil || !slices.Contains(schemes, u.Scheme) || !goodHost(u.Hostname()) || u.Fragment != "" {
		return nil, false
	}
	return u, u.Port() == "" && !strings.HasSuffix(u.Host, ":") || goodPort(u.Port())
}

func webURL(value string) string {
	if _, good := parsedURL(value, "http", "https"); !good {
		return "an http or https URL, such as https://pay.example.com"
	}
	return ""
}

func baseURL(value string) string {
	if u, good := parsedURL(value, "http", "https"); !good || u.RawQuery != "" || u.ForceQuery {
		return "an http or https URL without query and fragment, such as https://processors.example.com"
	}
	return ""
}

// receiver is a URL, or an address.
func receiver(value string) string {
	if webURL(value) != "" && address(value) != "" {
		return "like http://127.0.0.1:9000/webhooks"
	}
	return ""
}

func publicURL(value string) string {
	u, good := parsedURL(value, "http", "https")
	if !good || u.User != nil || u.RawQuery != "" || u.ForceQuery {
		return "an http or https URL without user, query and fragment, such as https://pay.example.com"
	}
	return ""
}

func natsURLs(value string) string {
	for one := range strings.SplitSeq(value, ",") {
		one = strings.TrimSpace(one)
		if !strings.Contains(one, "://") {
			one = "nats://" + one
		}
		if _, good := parsedURL(one, "nats", "tls", "ws", "wss"); !good {
			return "the URL of a NATS server, such as nats://10.0.0.1:4222, or several with commas between them"
		}
	}
	return ""
}

var namedProcess = regexp.MustCompile(`^[a-z][a-z0-9-]{0,30}=[1-9][0-9]{0,8}$`)

func processID(value string) string {
	if !namedProcess.MatchString(value) {
		return "a name and the id of a process, such as nats=4711"
	}
	return ""
}

func origin(value string) string {
	u, good := parsedURL(value, "http", "https")
	if !good || value != u.Scheme+"://"+u.Host || strings.ContainsAny(value, "*;,'") {
		return "an origin, such as https://shop.example.com"
	}
	return ""
}
