package httpapi_test

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/png"
	"regexp"
	"testing"
)

// TestSettingsPage checks that a change is compared before it is saved, that only what the user
// changed is sent, that refused input stays in the form, and that a form from before another change
// changes nothing (D20).
func TestSettingsPage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn()
	const at = "/dashboard/settings"
	s.open(at)
	s.shows(200, "What applies now", "none: customers read", "manual: you capture", "of every origin")
	mark := s.value("mark")
	input := func(mark string, more ...string) []string {
		return append([]string{"mark", mark, "captureMode", "MANUAL"}, more...)
	}
	before := s.events()
	s.submit(at, input(mark, "displayName", "Shop <b>", "checkoutOrigins", "https://shop.example", "clientTokenTtl", "3600")...)
	s.shows(200, "Before you save", "Shop <b>", "https://shop.example", "3,600 seconds (1h)", "the service’s default")
	s.submit(at, input(mark, "displayName", "Shop", "clientTokenTtl", "5")...)
	s.shows(422, "Write whole seconds between 60 and 2,592,000")
	s.holds(`value="Shop"`, `value="5"`)
	s.submit(at, input(mark, "displayName", "Shop", "checkoutOrigins", "https://shop.example/path", "do", "save")...)
	s.shows(422, "Some of the input is not accepted.")
	s.holds(`value="Shop"`, "https://shop.example/path")
	if n := s.events() - before; n != 0 {
		t.Fatalf("%d events before a change was saved", n)
	}
	s.submit(at, input(mark, "brandColor", "green")...)
	s.shows(422, "Write it as #1a7f5a")
	s.holds(`value="green"`)
	s.submit(at, input(mark, "logo", "AAAA", "do", "save")...)
	s.shows(422, "Must be a PNG file in base64")
	var logo bytes.Buffer
	must(t, png.Encode(&logo, image.NewGray(image.Rect(0, 0, 3, 2))))
	file := base64.StdEncoding.EncodeToString(logo.Bytes())
	save := input(mark, "displayName", "Shop", "refuseRefundOfDisputed", "yes", "brandColor", "#1A7F5A", "logo", file, "do", "save")
	s.submit(at, save...)
	s.shows(200, "The change is saved.", "Shop", "refused", "#1a7f5a")
	s.holds(`fill="#1a7f5a"`)
	if shown := s.open(regexp.MustCompile(`/checkout/logos/[^"]+`).FindString(s.now.text)); shown.status != 200 || shown.text != logo.String() {
		t.Errorf("the logo is %d %q", shown.status, shown.text)
	}
	s.submit(at, save...)
	s.shows(200, "Nothing differs from the settings that apply.")
	s.submit(at, input(mark, "displayName", "Another shop", "do", "save")...)
	s.shows(409, "Nothing was done.", "The settings have changed since you opened this page.", "Shop")
	s.holds(`value="Another shop"`)
	if n := s.events() - before; n != 1 {
		t.Errorf("%d events for one change", n)
	}
	s.open(at)
	s.submit(at, input(s.value("mark"), "logo", file, "removeLogo", "yes", "do", "save")...)
	s.shows(200, "The change is saved.", "none: customers read", "allowed, with a warning", "the checkout’s own")
	got := s.want(s.manage("GET", "/settings", ""), 200, "")
	if got.text != `{"captureMode":"MANUAL","first6Digits":false,"refuseRefundOfDisputed":false}` {
		t.Error(got.text)
	}
}
