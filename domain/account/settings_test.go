package account_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"payledger/domain"
	"payledger/domain/account"
	"payledger/domain/processor"
)

// expectFaults checks that a refusal has exactly these violations, in order of path.
func expectFaults(t *testing.T, model string, want []string, decide func(account.State) (account.Event, error)) {
	t.Helper()
	e, err := decide(merchant(account.Routing{}))
	var refused *domain.Error
	if e != nil || !errors.As(err, &refused) || refused.Reason != domain.ReasonRequestValidation || refused.Model != model {
		t.Fatalf("%v, %v", e, err)
	}
	var got []string
	for _, v := range refused.Violations {
		got = append(got, v.Path+" "+v.Description)
	}
	slices.Sort(got)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestChangeSettings checks that settings outside the request stay, and that a change without
// effect is not recorded (D5, D6, D20).
func TestChangeSettings(t *testing.T) {
	s := merchant(account.Routing{})
	if s.Settings.Capture() != account.CaptureManual || s.Settings.AutoCapture() || s.Settings.TokenTTL(time.Hour) != time.Hour {
		t.Errorf("settings are %+v at first", s.Settings)
	}
	for i, step := range []struct {
		change account.ChangeSettings
		want   account.Settings // the settings after the change
		same   bool             // nothing is recorded
	}{
		{account.ChangeSettings{}, account.Settings{}, true},
		{account.ChangeSettings{CaptureMode: ptr(account.CaptureManual), First6Digits: ptr(false), ClientTokenTTL: ptr[int64](0)}, account.Settings{}, true},
		{account.ChangeSettings{First6Digits: ptr(true)}, account.Settings{First6Digits: true, CaptureMode: "MANUAL"}, false},
		{account.ChangeSettings{CaptureMode: ptr("AUTOMATIC")}, account.Settings{First6Digits: true, CaptureMode: "AUTOMATIC"}, false},
		{account.ChangeSettings{CaptureMode: ptr("AUTOMATIC"), First6Digits: ptr(true)}, account.Settings{First6Digits: true, CaptureMode: "AUTOMATIC"}, true},
		{account.ChangeSettings{ClientTokenTTL: ptr[int64](60)}, account.Settings{First6Digits: true, CaptureMode: "AUTOMATIC", ClientTokenTTL: 60}, false},
		{account.ChangeSettings{ClientTokenTTL: ptr[int64](2592000), First6Digits: ptr(false)}, account.Settings{CaptureMode: "AUTOMATIC", ClientTokenTTL: 2592000}, false},
		{account.ChangeSettings{ClientTokenTTL: ptr[int64](0), CaptureMode: ptr("MANUAL")}, account.Settings{CaptureMode: "MANUAL"}, false},
	} {
		step.change.At = at.Add(time.Duration(i) * time.Second)
		e, err := account.DecideChangeSettings(s, step.change)
		if err != nil || (e == nil) != step.same {
			t.Fatalf("step %d: %v, %v", i, e, err)
		}
		if e != nil {
			s = account.Evolve(s, e)
			if !s.UpdatedAt.Equal(step.change.At) {
				t.Errorf("step %d: updated at %s", i, s.UpdatedAt)
			}
		}
		if !reflect.DeepEqual(s.Settings, step.want) {
			t.Errorf("step %d: %+v", i, s.Settings)
		}
	}
	if auto := (account.Settings{CaptureMode: "AUTOMATIC", ClientTokenTTL: 90}); !auto.AutoCapture() || auto.TokenTTL(time.Hour) != 90*time.Second {
		t.Errorf("%+v", auto)
	}
}

// TestSettingsFaults: all at once.
func TestSettingsFaults(t *testing.T) {
	for _, ttl := range []int64{-1, 1, 59, 2592001, 1 << 62} {
		expectFaults(t, "SettingsRequest", []string{
			"$.captureMode must be one of MANUAL, AUTOMATIC", "$.clientTokenTtl must be an integer between 60 and 2592000",
		}, func(s account.State) (account.Event, error) {
			return account.DecideChangeSettings(s, account.ChangeSettings{At: at, CaptureMode: ptr("manual"), ClientTokenTTL: &ttl})
		})
	}
}

// TestDisplayName checks that customers can read the name, and see it as it was written (D20).
func TestDisplayName(t *testing.T) {
	s := merchant(account.Routing{})
	for _, name := range []string{"Kiosk", strings.Repeat("é", 64), "O'Neill & <b>Söhne</b> 店", ""} {
		e, err := account.DecideChangeSettings(s, account.ChangeSettings{At: at, DisplayName: &name})
		if err != nil || e == nil {
			t.Fatalf("%q: %v, %v", name, e, err)
		}
		if s = account.Evolve(s, e); s.Settings.DisplayName != name {
			t.Errorf("%q became %q", name, s.Settings.DisplayName)
		}
	}
	for _, name := range []string{strings.Repeat("x", 65), "a\nb", "a\x00b", "a\u202eb", "a\u200bb", " a", "a ", "a\xffb"} {
		expectFaults(t, "SettingsRequest", []string{"$.displayName must have 1 to 64 characters, none of them invisible, and no space at an end"},
			func(s account.State) (account.Event, error) {
				return account.DecideChangeSettings(s, account.ChangeSettings{At: at, DisplayName: &name})
			})
	}
}

// TestChangeProcessor: one merchant account changes, in its place (D20).
func TestChangeProcessor(t *testing.T) {
	s := merchant(account.Routing{})
	want := slices.Clone(s.Processors)
	for i, step := range []struct {
		change account.ChangeProcessor
		want   account.Processor
		same   bool
	}{
		{account.ChangeProcessor{Name: "STRIPE"}, account.Processor{Name: "STRIPE", MerchantID: "m-4", Enabled: true}, true},
		{account.ChangeProcessor{Name: "STRIPE", Enabled: ptr(true), MerchantID: ptr("m-4")}, account.Processor{Name: "STRIPE", MerchantID: "m-4", Enabled: true}, true},
		{account.ChangeProcessor{Name: "STRIPE", Enabled: ptr(false)}, account.Processor{Name: "STRIPE", MerchantID: "m-4"}, false},
		{account.ChangeProcessor{Name: "STRIPE", MerchantID: ptr("shop")}, account.Processor{Name: "STRIPE", MerchantID: "shop"}, false},
		{account.ChangeProcessor{Name: "PAYPAL", Enabled: ptr(true), MerchantID: ptr(strings.Repeat("é", 255))}, account.Processor{Name: "PAYPAL", MerchantID: strings.Repeat("é", 255), Enabled: true}, false},
	} {
		e, err := account.DecideChangeProcessor(s, step.change)
		if err != nil || (e == nil) != step.same {
			t.Fatalf("step %d: %v, %v", i, e, err)
		}
		if e != nil {
			before := s
			s = account.Evolve(s, e)
			if d := cmp.Diff(want, before.Processors); d != "" {
				t.Errorf("step %d: the state handed out before has changed: %s", i, d)
			}
		}
		want[slices.Index(processor.Names, step.want.Name)] = step.want
		if d := cmp.Diff(want, s.Processors); d != "" {
			t.Errorf("step %d: %s", i, d)
		}
	}
	if e, err := account.DecideChangeProcessor(s, account.ChangeProcessor{Name: "SQUARE", MerchantID: ptr("")}); e != nil || domain.ReasonOf(err) != domain.ReasonEntityNotFound {
		t.Errorf("a processor that there is not: %v, %v", e, err)
	}
	for _, id := range []string{"", strings.Repeat("x", 256)} {
		expectFaults(t, "ProcessorAccountRequest", []string{"$.processorMerchantId must have 1 to 255 characters"}, func(s account.State) (account.Event, error) {
			return account.DecideChangeProcessor(s, account.ChangeProcessor{Name: "STRIPE", MerchantID: &id})
		})
	}
}

// TestCheckoutOrigins checks that the setting takes origins only as browsers send them, each once,
// and that a fault names the right form (D22.6).
func TestCheckoutOrigins(t *testing.T) {
	var s account.State
	change := func(origins ...string) (account.Event, error) {
		return account.DecideChangeSettings(s, account.ChangeSettings{At: at, CheckoutOrigins: &origins})
	}
	good := []string{"https://shop.example", "https://shop.example:8443", "http://localhost:3000", "http://127.0.0.1", "https://[::1]:8080", "https://xn--ksg-snap.example", "https://a_b.example"}
	e, err := change(good...)
	if err != nil {
		t.Fatal(err)
	}
	s = account.Evolve(s, e)
	if !slices.Equal(s.Settings.CheckoutOrigins, good) {
		t.Errorf("%q", s.Settings.CheckoutOrigins)
	}
	if e, err := change(good...); e != nil || err != nil {
		t.Errorf("the same again: %v %v", e, err)
	}
	const any = "must be an origin as browsers send it: https://host or https://host:port, http in place of https, and nothing after it"
	for origin, want := range map[string]string{
		"https://shop.example/": "https://shop.example", "https://shop.example/pay?a=b#c": "https://shop.example", "HTTPS://Shop.Example": "https://shop.example",
		"https://shop.example:443": "https://shop.example", "http://shop.example:80": "http://shop.example", "https://shop.example:0443": "https://shop.example",
		"https://u:p@shop.example": "https://shop.example", "https://shop.example:": "https://shop.example", "https://[::1]:443": "https://[::1]",
		"*": "", "null": "", "": "", "shop.example": "", "//shop.example": "", "https://": "", "https://*.shop.example": "", "ftp://shop.example": "", "https:shop.example": "",
		"https://shop.example:0": "", "https://shop.example:65536": "", "https://shop.example:x": "", "https://sh\u00f6p.example": "", "https://shop.example ": "", "javascript:alert(1)": "",
		"https://a b.example": "", "https://[::1": "", "https://[zz]": "", "https://a]b": "", "https://a.example,https://b.example": "", "https://shop.example\n": "",
	} {
		fault := any
		if want != "" {
			fault = "must be an origin as browsers send it: " + want
		}
		expectFaults(t, "SettingsRequest", []string{"$.checkoutOrigins[1] " + fault}, func(account.State) (account.Event, error) { return change("https://first.example", origin) })
	}
	expectFaults(t, "SettingsRequest", []string{"$.checkoutOrigins[1] is there twice"}, func(account.State) (account.Event, error) { return change("https://a.example", "https://a.example") })
	expectFaults(t, "SettingsRequest", []string{"$.checkoutOrigins must have at most 20 elements"}, func(account.State) (account.Event, error) { return change(make([]string, 21)...) })
	e, err = change()
	if err != nil || account.Evolve(s, e).Settings.CheckoutOrigins != nil {
		t.Errorf("none: %v %v", e, err)
	}
}
