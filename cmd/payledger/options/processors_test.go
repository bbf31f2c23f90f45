package options_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"payledger/cmd/payledger/options"
	"payledger/domain/account"
	"payledger/domain/processor"
)

const adyen, stripe = processor.Adyen, processor.Stripe

// TestTargets: a processor has its own address, token and secret, or those of all processors.
func TestTargets(t *testing.T) {
	t.Parallel()
	type targets = map[processor.Name]options.Target
	strip := func(found targets) targets {
		for name, target := range found {
			found[name] = options.Target{URL: target.URL, Token: target.Token, Secret: target.Secret, Timeout: target.Timeout}
		}
		return found
	}
	all := func(one options.Target) targets {
		every := targets{}
		for _, name := range processor.Names {
			every[name] = one
		}
		return every
	}
	with := func(every targets, name processor.Name, one options.Target) targets { every[name] = one; return every }
	for what, c := range map[string]struct {
		of      options.Processors
		secrets []string
		want    targets
	}{
		"the simulator": {options.Processors{}, []string{"a secret"}, targets{}},
		"one for all":   {options.Processors{ProcessorURL: "http://p", ProcessorToken: []string{"t="}}, []string{"a, b"}, all(options.Target{URL: "http://p", Token: "t=", Secret: "a, b"})},
		"two": {options.Processors{Processor: []string{"STRIPE=http://s/base", "ADYEN=http://a"}}, []string{"ADYEN=1", "STRIPE=2=="},
			targets{adyen: {URL: "http://a", Secret: "1"}, stripe: {URL: "http://s/base", Secret: "2=="}}},
		"two in a variable": {options.Processors{Processor: []string{"STRIPE=http://s ADYEN=http://a"}, ProcessorToken: []string{"\tADYEN=ta\nSTRIPE=ts \n"}}, []string{"ADYEN=1 STRIPE=2"},
			targets{adyen: {URL: "http://a", Token: "ta", Secret: "1"}, stripe: {URL: "http://s", Token: "ts", Secret: "2"}}},
		"one of its own": {options.Processors{ProcessorURL: "http://p", Processor: []string{"STRIPE=http://s"}, ProcessorToken: []string{"STRIPE=ts", "t"}}, []string{"s", "ADYEN=sa"},
			with(with(all(options.Target{URL: "http://p", Token: "t", Secret: "s"}), stripe, options.Target{URL: "http://s", Token: "ts", Secret: "s"}), adyen, options.Target{URL: "http://p", Token: "t", Secret: "sa"})},
		"times": {options.Processors{Processor: []string{"STRIPE=http://s", "ADYEN=http://a"}, ProcessorTimeout: []string{"20s", "ADYEN=1s"}}, []string{"s"},
			targets{adyen: {URL: "http://a", Secret: "s", Timeout: time.Second}, stripe: {URL: "http://s", Secret: "s", Timeout: 20 * time.Second}}},
		"two with one address": {options.Processors{Processor: []string{"STRIPE=http://s", "ADYEN=http://s"}}, []string{"s"},
			targets{adyen: {URL: "http://s", Secret: "s"}, stripe: {URL: "http://s", Secret: "s"}}},
	} {
		found, faults := c.of.Targets(&options.ProcessorSecrets{ProcessorSecret: c.secrets})
		if len(faults) > 0 || len(found) != len(c.want) {
			t.Errorf("%s: %v, faults %v", what, found, faults)
			continue
		}
		for name, target := range strip(found) {
			if target != c.want[name] {
				t.Errorf("%s, %s: %+v, expected %+v", what, name, target, c.want[name])
			}
		}
	}
}

// TestTargetFaults: each wrong combination is named, in any environment. No fault repeats a token,
// a secret, a user or a password.
func TestTargetFaults(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	type flags struct {
		options.Processors
		secrets []string
	}
	at := func(values ...string) flags { return flags{options.Processors{Processor: values}, []string{"S3CRET"}} }
	for what, c := range map[string]struct {
		of   flags
		says string
	}{
		"an unknown name":          {at("KLARNA=http://k"), "--processor: KLARNA is no processor: the names are [ADYEN"},
		"a name in lower case":     {at("stripe=http://s"), "--processor: stripe is written STRIPE"},
		"a name twice":             {at("STRIPE=http://s", "STRIPE=http://t"), "--processor has STRIPE twice"},
		"a name twice in one":      {at("STRIPE=http://s STRIPE=http://s"), "--processor has STRIPE twice"},
		"no name":                  {at("http://s"), "--processor needs a name before its URL"},
		"a name only":              {at("STRIPE"), "--processor needs a name before its URL"},
		"no URL":                   {at("STRIPE="), "--processor has no value for STRIPE"},
		"another scheme":           {at("STRIPE=ftp://me:S3CRET@s"), `--processor STRIPE must be an http or https URL without query and fragment, such as https://processors.example.com, and is "ftp://s"`},
		"a query":                  {at("STRIPE=http://s?key=1"), "--processor STRIPE must be an http or https URL without query"},
		"not a URL":                {at("STRIPE=S3CRET@"), "--processor STRIPE must be an http or https URL"},
		"no secret":                {flags{options.Processors{Processor: []string{"STRIPE=http://s", "ADYEN=http://a"}}, []string{"ADYEN=S3CRET"}}, "the secret of the notifications of STRIPE is missing"},
		"a secret of another":      {flags{options.Processors{Processor: []string{"STRIPE=http://s"}}, []string{"STRIPE=S3CRET", "WORLDPAY=S3CRET"}}, "--processor-secret names WORLDPAY, which has no address: add --processor WORLDPAY=URL"},
		"two secrets for all":      {flags{options.Processors{ProcessorURL: "http://p"}, []string{"S3CRET", "S3CRET2"}}, "--processor-secret has a value for all processors twice"},
		"a secret among pairs":     {flags{options.Processors{ProcessorURL: "http://p"}, []string{"STRIPE=S3CRET S3CRET"}}, "--processor-secret has a text without a name among others with one"},
		"a secret of nobody":       {flags{options.Processors{ProcessorURL: "http://p"}, []string{"s3cret=S3CRET"}}, "--processor-secret has a text before = that is no processor"},
		"a secret, no processor":   {flags{options.Processors{}, []string{"STRIPE=S3CRET"}}, "no processor has an address: the simulator in this process has one secret for all"},
		"a token, no processor":    {flags{options.Processors{ProcessorToken: []string{"S3CRET"}}, nil}, "--processor-token is for --processor or --processor-url"},
		"a token of another":       {flags{options.Processors{Processor: []string{"STRIPE=http://s"}, ProcessorToken: []string{"ADYEN=S3CRET"}}, []string{"S3CRET"}}, "--processor-token names ADYEN, which has no address"},
		"a token and a user":       {flags{options.Processors{Processor: []string{"STRIPE=http://me:S3CRET@s"}, ProcessorToken: []string{"S3CRET"}}, []string{"S3CRET"}}, "--processor STRIPE has a user, and a token is set"},
		"a token with a blank":     {flags{options.Processors{ProcessorURL: "http://p", ProcessorToken: []string{"S3CRET S3CRET"}}, nil}, "has a character that no header can have"},
		"a time that is none":      {flags{options.Processors{ProcessorURL: "http://p", ProcessorTimeout: []string{"ADYEN=S3CRET"}}, nil}, "--processor-timeout of ADYEN must be a duration of 1s or more, such as 20s"},
		"too short a time":         {flags{options.Processors{ProcessorURL: "http://p", ProcessorTimeout: []string{"999ms"}}, nil}, "--processor-timeout of ADYEN must be a duration of 1s or more"},
		"a time of another":        {flags{options.Processors{Processor: []string{"STRIPE=http://s"}, ProcessorTimeout: []string{"ADYEN=2s"}}, []string{"S3CRET"}}, "--processor-timeout names ADYEN, which has no address"},
		"a time, no processor":     {flags{options.Processors{ProcessorTimeout: []string{"2s"}}, nil}, "--processor-timeout is for --processor or --processor-url"},
		"two times":                {flags{options.Processors{ProcessorURL: "http://p", ProcessorTimeout: []string{"2s", "3s"}}, nil}, "--processor-timeout has a value for all processors twice"},
		"no file of authorities":   {flags{options.Processors{ProcessorURL: "https://p", ProcessorCA: filepath.Join(dir, "none")}, nil}, "--processor-ca: open "},
		"no authority in the file": {flags{options.Processors{ProcessorURL: "https://p", ProcessorCA: empty}, nil}, "has no certificate in PEM"},
		"authorities for http":     {flags{options.Processors{ProcessorURL: "http://p", ProcessorCA: empty}, nil}, "--processor-ca is for processors with an https URL"},
	} {
		_, faults := c.of.Targets(&options.ProcessorSecrets{ProcessorSecret: c.of.secrets})
		text := strings.Join(faults, "; ")
		if !strings.Contains(text, c.says) || strings.Contains(text, "S3CRET") || strings.Contains(text, "me:") {
			t.Errorf("%s: %s", what, text)
		}
	}
}

// TestProductionProcessors: production needs https, and a long secret for each processor. One error
// names everything.
func TestProductionProcessors(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("s", 32)
	o := options.Options{Environment: account.Production}
	o.Processor, o.ProcessorSecret = []string{"STRIPE=http://s", "ADYEN=https://a", "WORLDPAY=https://w", "KLARNA=https://k"}, []string{"STRIPE=short", "ADYEN=" + long}
	o.Arguments = options.Arguments{"serve", "--processor", "STRIPE=https://me:hidden@s", "--processor-token=STRIPE=hidden", "--processor-secret", "STRIPE=hidden"}
	text := strings.Join(o.Faults(), "; ")
	for _, says := range []string{
		"--processor STRIPE must be an https URL in production", "the processor secret of STRIPE has 5 characters", "KLARNA is no processor",
		"the secret of the notifications of WORLDPAY is missing", "set PAYLEDGER_PROCESSOR instead", "set PAYLEDGER_PROCESSOR_TOKEN or --processor-token-file instead",
		"set PAYLEDGER_PROCESSOR_SECRET or --processor-secret-file instead",
	} {
		if !strings.Contains(text, says) {
			t.Errorf("it does not say %q: %s", says, text)
		}
	}
	if strings.Contains(text, "hidden") || strings.Contains(text, "processor secret of ADYEN") {
		t.Error(text)
	}
}

// TestProcessorTimeLimit: no call of a processor takes longer than a caller waits.
func TestProcessorTimeLimit(t *testing.T) {
	t.Parallel()
	o := options.Options{PaymentTimeout: 30 * time.Second}
	o.ProcessorURL, o.ProcessorTimeout = "http://p", []string{"30s", "STRIPE=31s"}
	text := strings.Join(o.Faults(), "; ")
	if !strings.Contains(text, "--processor-timeout of STRIPE is 31s, longer than --payment-timeout 30s") || strings.Contains(text, "timeout of ADYEN") {
		t.Error(text)
	}
	for own, want := range map[time.Duration]time.Duration{0: 30 * time.Second, 20 * time.Second: 20 * time.Second} {
		if got := (options.Target{Timeout: own}).CallTimeout(o.PaymentTimeout); got != want {
			t.Errorf("a call with the time %s may take %s, expected %s", own, got, want)
		}
	}
	if got := (options.Target{}).CallTimeout(time.Millisecond); got != options.MinCallTimeout {
		t.Errorf("a call may take %s", got)
	}
}

// TestProcessorFiles: a file has a token or a secret for all processors, or a line for each.
func TestProcessorFiles(t *testing.T) {
	t.Parallel()
	write := func(text string) string {
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	o := options.Options{}
	o.Processor = []string{"STRIPE=http://s", "ADYEN=http://a"}
	o.ProcessorSecretFile, o.ProcessorTokenFile = write("ADYEN=sa\r\nSTRIPE=ss\n\n"), write("one for all\n")
	read := o.WithFiles()
	targets, faults := read.Targets(&read.ProcessorSecrets)
	if targets[adyen].Secret != "sa" || targets[stripe].Secret != "ss" || targets[stripe].Token != "one for all" || len(faults) != 2 {
		t.Errorf("%+v %v", targets, faults)
	}
	o.ProcessorToken = []string{"STRIPE=t"}
	if read = o.WithFiles(); !slices.ContainsFunc(read.WrittenFaults(), func(fault string) bool {
		return fault == "--processor-token and --processor-token-file are both set: leave one out"
	}) {
		t.Errorf("%v", read.WrittenFaults())
	}
}
