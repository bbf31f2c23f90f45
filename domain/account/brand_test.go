package account_test

import (
	"strings"
	"testing"

	"payledger/domain/account"
)

// TestBrand: a colour is #rrggbb, a logo is short, and both can be removed.
func TestBrand(t *testing.T) {
	s := merchant(account.Routing{})
	for _, step := range []struct{ color, logo, wantColor string }{
		{"#0A7D5c", strings.Repeat("A", 32768), "#0a7d5c"}, {"#000000", "iVBO", "#000000"}, {"", "", ""},
	} {
		change := account.ChangeSettings{At: at, BrandColor: &step.color, Logo: &step.logo}
		e, err := account.DecideChangeSettings(s, change)
		if err != nil || e == nil {
			t.Fatal(e, err)
		}
		if s = account.Evolve(s, e); s.Settings.BrandColor != step.wantColor || s.Settings.Logo != step.logo {
			t.Errorf("%+v", s.Settings)
		}
		if e, err := account.DecideChangeSettings(s, change); e != nil || err != nil {
			t.Errorf("the same again: %v %v", e, err)
		}
	}
	long := strings.Repeat("A", 32769)
	want := []string{"$.logo must have at most 32768 characters: a file of at most 24 kB"}
	expectFaults(t, "SettingsRequest", want, func(s account.State) (account.Event, error) {
		return account.DecideChangeSettings(s, account.ChangeSettings{At: at, Logo: &long})
	})
	want = []string{"$.brandColor must be a colour as #rrggbb: # and six digits, 0 to 9 and a to f"}
	for _, color := range []string{"red", "#fff", "#0a7d5", "#0a7d5g", "0a7d5c", "#0a7d5c;", " #0a7d5c"} {
		expectFaults(t, "SettingsRequest", want, func(s account.State) (account.Event, error) {
			return account.DecideChangeSettings(s, account.ChangeSettings{At: at, BrandColor: &color})
		})
	}
}
