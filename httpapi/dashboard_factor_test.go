package httpapi_test

import (
	"regexp"
	"testing"

	"github.com/pquerna/otp/totp"
)

var (
	shownSecret   = regexp.MustCompile(`id="totp">([A-Z2-7]+)<`)
	recoveryCodes = regexp.MustCompile(`<code>(\d{5}-\d{5})</code>`)
	stepField     = regexp.MustCompile(`name="step" value="([^"]+)"`)
)

// TestSecondFactorPages: the page shows the secret, and after the right code the recovery codes,
// once. Without the app, a sign-in takes each of them once. The page counts those that are left.
func TestSecondFactorPages(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn()
	s.submit("/dashboard/me/factor", "password", "wrong")
	s.shows(422, "Your present password is wrong.")
	s.submit("/dashboard/me/factor", "password", s.account.DashboardPassword)
	secret := shownSecret.FindStringSubmatch(s.now.text)
	if secret == nil {
		t.Fatalf("no secret: %s", text(s.now.text))
	}
	s.submit("/dashboard/me/factor/confirm", "code", "000000")
	s.shows(422, "The code is wrong", "enter the next code below")
	code, err := totp.GenerateCode(secret[1], s.rig.now())
	must(t, err)
	s.submit("/dashboard/me/factor/confirm", "code", code)
	s.shows(200, "Sign-ins now need a code from your app.", "they are shown this once")
	codes := recoveryCodes.FindAllStringSubmatch(s.now.text, -1)
	if len(codes) != 8 {
		t.Fatalf("%d recovery codes: %s", len(codes), text(s.now.text))
	}
	s.open("/dashboard/me")
	s.shows(200, "8 recovery codes are left")
	if recoveryCodes.MatchString(s.now.text) {
		t.Error("the recovery codes are shown again")
	}
	for _, first := range []bool{true, false} {
		other := s.browserOf()
		other.submit("/dashboard/login", "email", s.account.DashboardUser, "password", s.account.DashboardPassword)
		other.shows(401, "recovery code")
		step := stepField.FindStringSubmatch(other.now.text)
		if step == nil {
			t.Fatalf("no step: %s", text(other.now.text))
		}
		other.submit("/dashboard/login", "step", step[1], "code", codes[2][1], "next", "/dashboard/me")
		if first {
			other.shows(200, "7 recovery codes are left")
		} else {
			other.shows(401, "The code is wrong, too old, or was used before.")
		}
	}
	s.submit("/dashboard/me/factor/disable", "code", codes[7][1])
	s.shows(200, "Sign-ins need no code any more.")
}
