package options

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"payledger/domain/processor"
)

// Processors are the flags of the connections to processors (D22.9). A value of a repeatable flag
// is for one processor, NAME=value, or has several such pairs with blanks between them. Without a
// name it is for all processors, beside those that have one of their own.
type Processors struct {
	ProcessorURL       string   `name:"processor-url" help:"Address of all processors (default in the sandbox: a simulator in this process)."`
	Processor          []string `name:"processor" sep:"none" help:"Address of one processor; repeatable, in a variable with blanks between them. Without --processor-url, the others have none." placeholder:"NAME=URL"`
	ProcessorToken     []string `name:"processor-token" sep:"none" help:"Sent with every call of the processors, as Authorization: Bearer; for one of them NAME=TEXT, repeatable." placeholder:"TEXT"`
	ProcessorTokenFile string   `help:"File that holds the processor token, or a line NAME=TEXT for each processor." type:"path"`
	ProcessorTimeout   []string `name:"processor-timeout" sep:"none" help:"How long one call of a processor may take, 1s to --payment-timeout (default: that); for one of them NAME=DURATION, repeatable." placeholder:"DURATION"`
	ProcessorCA        string   `name:"processor-ca" help:"File with the certificates of the authorities that sign the processors' certificates, instead of the system's." type:"path"`
}

// ProcessorSecrets are the flags of the secrets that sign processors' notifications.
type ProcessorSecrets struct {
	ProcessorSecret     []string `name:"processor-secret" sep:"none" help:"Signs processors' notifications; for one of them NAME=TEXT, repeatable." placeholder:"TEXT"`
	ProcessorSecretFile string   `help:"File that holds the processor secret, or a line NAME=TEXT for each processor." type:"path"`
}

// Target is the connection to one processor.
type Target struct {
	URL, Token string
	Secret     string        // signs its notifications; "": none was given
	Timeout    time.Duration // of one call; 0: none was given
	flag       string        // that gave the address
}

// InProcess reports whether the processors are the simulator of this process.
func (p Processors) InProcess() bool { return p.ProcessorURL == "" && len(p.Processor) == 0 }

// Targets returns the processors that have an address, and every fault of the flags. Without
// secrets, nobody reads notifications.
func (p Processors) Targets(s *ProcessorSecrets) (map[processor.Name]Target, []string) {
	addresses, faults := pairs("--processor", p.Processor)
	tokens, more := pairs("--processor-token", p.ProcessorToken)
	faults = append(faults, more...)
	timeouts, more := pairs("--processor-timeout", p.ProcessorTimeout)
	faults = append(faults, more...)
	secrets := map[processor.Name]string{}
	if s != nil {
		secrets, more = pairs("--processor-secret", s.ProcessorSecret)
		faults = append(faults, more...)
	}
	if _, all := addresses[everyName]; all {
		faults = append(faults, "--processor needs a name before its URL, NAME=URL; an address of all processors is --processor-url")
	}
	targets := map[processor.Name]Target{}
	for _, name := range processor.Names {
		t := Target{URL: addresses[name], flag: "--processor " + string(name)}
		if t.URL == "" {
			t.URL, t.flag = p.ProcessorURL, "--processor-url"
		}
		if t.URL == "" {
			faults = append(faults, p.unused(name, "--processor-token", tokens)...)
			faults = append(faults, p.unused(name, "--processor-secret", secrets)...)
			faults = append(faults, p.unused(name, "--processor-timeout", timeouts)...)
			continue
		}
		t.Token, t.Secret = of(tokens, name), of(secrets, name)
		if text := of(timeouts, name); text != "" {
			if t.Timeout, more = callTimeout(name, text); len(more) > 0 {
				faults = append(faults, more...)
			}
		}
		faults = append(faults, t.faults(name)...)
		if s != nil && t.Secret == "" && addresses[name] != "" {
			faults = append(faults, fmt.Sprintf("the secret of the notifications of %s is missing: set PAYLEDGER_PROCESSOR_SECRET, or --processor-secret-file", name))
		}
		targets[name] = t
	}
	if tokens[everyName] != "" && p.InProcess() {
		faults = append(faults, "--processor-token is for --processor or --processor-url: the simulator in this process needs none")
	}
	if timeouts[everyName] != "" && p.InProcess() {
		faults = append(faults, "--processor-timeout is for --processor or --processor-url: the simulator in this process has the time of --payment-timeout")
	}
	_, wrong := p.Authorities()
	return targets, unique(append(faults, append(wrong, p.unusedAuthorities(targets)...)...))
}

// CallTimeout returns how long one call of the processor may take, if a caller waits for payment.
func (t Target) CallTimeout(payment time.Duration) time.Duration {
	return cmp.Or(t.Timeout, max(payment, MinCallTimeout))
}

// MinCallTimeout is the shortest time that --processor-timeout takes. A connector needs a call of
// its vendor for its answer.
const MinCallTimeout = time.Second

func callTimeout(name processor.Name, text string) (time.Duration, []string) {
	took, err := time.ParseDuration(text)
	if err != nil || took < MinCallTimeout {
		return 0, []string{fmt.Sprintf("--processor-timeout of %s must be a duration of %s or more, such as 20s", name, MinCallTimeout)}
	}
	return took, nil
}

// everyName stands for all processors in the pairs of a flag.
const everyName processor.Name = ""

// of returns the value for a processor.
func of(values map[processor.Name]string, name processor.Name) string {
	if own := values[name]; own != "" {
		return own
	}
	return values[everyName]
}

func (p Processors) unused(name processor.Name, flag string, values map[processor.Name]string) []string {
	switch {
	case values[name] == "":
		return nil
	case p.InProcess():
		return []string{fmt.Sprintf("%s names %s, and no processor has an address: the simulator in this process has one secret for all, and no token and time of its own", flag, name)}
	default:
		return []string{fmt.Sprintf("%s names %s, which has no address: add --processor %[2]s=URL", flag, name)}
	}
}

func (t Target) faults(name processor.Name) (faults []string) {
	if fault := baseURL(t.URL); fault != "" {
		if shown := WithoutUsers(t.URL); shown != "" {
			fault += fmt.Sprintf(", and is %q", shown)
		}
		faults = append(faults, t.flag+" must be "+fault)
	}
	if u, err := url.Parse(t.URL); err == nil && u.User != nil && t.Token != "" {
		faults = append(faults, t.flag+" has a user, and a token is set: a call has one of them, leave the other out")
	}
	if strings.ContainsFunc(t.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		faults = append(faults, fmt.Sprintf("the processor token of %s has a character that no header can have: visible ASCII characters are allowed", name))
	}
	return faults
}

// productionFaults returns what production refuses.
func (t Target) productionFaults(name processor.Name) (faults []string) {
	if u, err := url.Parse(t.URL); err != nil || u.Scheme != "https" || u.Host == "" {
		faults = append(faults, t.flag+" must be an https URL in production: card numbers go there")
	}
	switch n := len([]rune(t.Secret)); {
	case n == 0 && t.flag == "--processor-url":
		faults = append(faults, fmt.Sprintf("PAYLEDGER_PROCESSOR_SECRET (or --processor-secret-file) is needed in production, with %d characters or more: it signs processors' notifications", minProcessorSecret))
	case n > 0 && n < minProcessorSecret && t.flag == "--processor-url":
		faults = append(faults, fmt.Sprintf("the processor secret has %d characters; production needs %d or more", n, minProcessorSecret))
	case n > 0 && n < minProcessorSecret:
		faults = append(faults, fmt.Sprintf("the processor secret of %s has %d characters; production needs %d or more", name, n, minProcessorSecret))
	}
	return faults
}

// Authorities returns the authorities of --processor-ca; nil without it.
func (p Processors) Authorities() (*x509.CertPool, []string) {
	if p.ProcessorCA == "" {
		return nil, nil
	}
	text, err := os.ReadFile(p.ProcessorCA)
	if err != nil {
		return nil, []string{"--processor-ca: " + err.Error()}
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(text) {
		return nil, []string{fmt.Sprintf("--processor-ca: %s has no certificate in PEM", p.ProcessorCA)}
	}
	return authorities, nil
}

func (p Processors) unusedAuthorities(targets map[processor.Name]Target) []string {
	if p.ProcessorCA == "" {
		return nil
	}
	for _, t := range targets {
		if strings.HasPrefix(t.URL, "https:") {
			return nil
		}
	}
	return []string{"--processor-ca is for processors with an https URL, and none has one"}
}

// unique returns the faults without repeats, in their order: a fault of --processor-url counts for
// all processors.
func unique(faults []string) (once []string) {
	for _, fault := range faults {
		if !slices.Contains(once, fault) {
			once = append(once, fault)
		}
	}
	return once
}

// pair is a text that begins with a name. A text that ends with = is none, as base64 may.
var pair = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{1,30}=[^=]`)

// shownName is a name that an error may show: another text may be a part of a secret.
var shownName = regexp.MustCompile(`^[A-Z_]{2,20}$`)

// pairs returns the values of a flag by the name of the processor, and its faults. No fault repeats
// a value.
func pairs(flag string, values []string) (by map[processor.Name]string, faults []string) {
	by = map[processor.Name]string{}
	set := func(name processor.Name, value string) {
		if by[name] == "" {
			by[name] = value
			return
		}
		whom := "a value for all processors"
		if name != everyName {
			whom = string(name)
		}
		faults = append(faults, fmt.Sprintf("%s has %s twice", flag, whom))
	}
	for _, value := range values {
		fields := strings.Fields(value)
		if len(fields) == 0 || !isPair(fields[0]) {
			set(everyName, strings.TrimSpace(value))
			continue
		}
		for _, field := range fields {
			name, own, named := strings.Cut(field, "=")
			switch upper := processor.Name(strings.ToUpper(name)); {
			case !named || !isPair(field):
				faults = append(faults, flag+" has a text without a name among others with one: write NAME=TEXT for each processor")
			case own == "":
				faults = append(faults, fmt.Sprintf("%s has no value for %s", flag, upper))
			case slices.Contains(processor.Names, processor.Name(name)):
				set(upper, own)
			case slices.Contains(processor.Names, upper):
				faults = append(faults, fmt.Sprintf("%s: %s is written %s", flag, name, upper))
			case shownName.MatchString(name):
				faults = append(faults, fmt.Sprintf("%s: %s is no processor: the names are %v", flag, name, processor.Names))
			default:
				faults = append(faults, fmt.Sprintf("%s has a text before = that is no processor: the names are %v", flag, processor.Names))
			}
		}
	}
	return by, faults
}

// SplitProcessors splits the values of a flag that selects processors by their name, and gives
// their addresses as NAME=URL.
func SplitProcessors(values []string) (names []processor.Name, addresses []string) {
	for _, value := range values {
		for _, field := range strings.Fields(value) {
			if strings.Contains(field, "=") {
				addresses = append(addresses, field)
			} else {
				names = append(names, processor.Name(field))
			}
		}
	}
	return names, addresses
}

// InVariable returns the addresses NAME=URL in a variable of the environment.
func InVariable(variable string) []string {
	_, addresses := SplitProcessors([]string{os.Getenv(variable)})
	return addresses
}

// Joined joins the values of a repeatable flag, as a file of them has them.
func Joined(values []string) string { return strings.Join(values, " ") }

// isPair reports whether a text is NAME=value. The value may be missing if the name is a
// processor's.
func isPair(text string) bool {
	name, _, cut := strings.Cut(text, "=")
	return pair.MatchString(text) || cut && slices.Contains(processor.Names, processor.Name(strings.ToUpper(name)))
}
