package settingspages

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"payledger/domain/account"
	"payledger/httpapi/checkout"
	"payledger/httpapi/dashboard/frame"
)

type settings struct {
	CaptureMode            string   `json:"captureMode"`
	ClientTokenTTL         int64    `json:"clientTokenTtl"` // seconds; 0: the service's default
	First6Digits           bool     `json:"first6Digits"`
	DisplayName            string   `json:"displayName"`
	RefuseRefundOfDisputed bool     `json:"refuseRefundOfDisputed"`
	CheckoutOrigins        []string `json:"checkoutOrigins"`
	BrandColor             string   `json:"brandColor"`
	Logo                   string   `json:"logo"` // a PNG file in base64
}

func (s settings) mark() string { return frame.Mark(s) }

// field is one setting, for people.
type field struct {
	Name, Text string
	value      func(settings) any // as the API takes it
	words      func(settings) string
}

var fields = []field{
	{"displayName", "Name of the shop", func(s settings) any { return orNull(s.DisplayName, s.DisplayName != "") }, func(s settings) string {
		if s.DisplayName == "" {
			return "none: customers read “the shop”"
		}
		return s.DisplayName
	}},
	{"brandColor", "Colour of the checkout", func(s settings) any { return orNull(s.BrandColor, s.BrandColor != "") }, func(s settings) string {
		return cmp.Or(s.BrandColor, "the checkout’s own")
	}},
	{"logo", "Logo in the checkout", func(s settings) any { return orNull(s.Logo, s.Logo != "") }, func(s settings) string {
		if s.Logo == "" {
			return "none"
		}
		file, err := base64.StdEncoding.DecodeString(s.Logo)
		if err != nil {
			return "no PNG file"
		}
		sum := sha256.Sum256(file)
		return "a file of " + frame.Number(int64(len(file))) + " bytes, with the SHA-256 " + hex.EncodeToString(sum[:4]) + "…"
	}},
	{"captureMode", "Capture", func(s settings) any { return s.CaptureMode }, func(s settings) string {
		if s.CaptureMode == account.CaptureAutomatic {
			return "automatic: an authorized payment is captured at once"
		}
		return "manual: you capture, or a workflow does"
	}},
	{"clientTokenTtl", "Life of a client session", func(s settings) any { return orNull(s.ClientTokenTTL, s.ClientTokenTTL != 0) }, func(s settings) string {
		if s.ClientTokenTTL == 0 {
			return "the service’s default"
		}
		life := time.Duration(s.ClientTokenTTL) * time.Second
		return frame.Number(s.ClientTokenTTL) + " seconds (" + strings.TrimSuffix(strings.TrimSuffix(life.String(), "0s"), "0m") + ")"
	}},
	{"checkoutOrigins", "Pages that may take payments", func(s settings) any { return orNull(s.CheckoutOrigins, len(s.CheckoutOrigins) > 0) }, func(s settings) string {
		if len(s.CheckoutOrigins) == 0 {
			return "of every origin"
		}
		return strings.Join(s.CheckoutOrigins, ", ")
	}},
	{"refuseRefundOfDisputed", "Refunds beside a dispute that is open or lost", func(s settings) any { return s.RefuseRefundOfDisputed }, func(s settings) string {
		return map[bool]string{true: "refused", false: "allowed, with a warning"}[s.RefuseRefundOfDisputed]
	}},
	{"first6Digits", "First six digits of cards in answers", func(s settings) any { return s.First6Digits }, func(s settings) string {
		return map[bool]string{true: "shown", false: "left out"}[s.First6Digits]
	}},
}

func orNull(value any, there bool) any {
	if !there {
		return nil
	}
	return value
}

// difference is a setting before and after a change.
type difference struct {
	Text, Before, After string
	Color, Logo         string // to show: a colour, the address of a logo; "" for none
}

type settingsView struct {
	frame.Form
	Now      []difference // Before is the setting that applies
	Change   bool
	Compared []difference // the change, before it is sent
}

func open(v *frame.Visit) (settings, error) {
	var s settings
	return s, v.Get(apiSettings, nil, &s)
}

func show(v *frame.Visit, s settings) error {
	values := s.input()
	values.Set("mark", s.mark())
	return page(v, s, settingsView{Form: frame.Form{Values: values}}, http.StatusOK)
}

func page(v *frame.Visit, s settings, out settingsView, status int) error {
	out.Change = v.Admin()
	for _, f := range fields {
		now := difference{Text: f.Text, Before: f.words(s)}
		switch f.Name {
		case "brandColor":
			now.Color = s.BrandColor
		case "logo":
			now.Logo = checkout.LogoAddress(v.Merchant.ID, s.Logo)
		}
		out.Now = append(out.Now, now)
	}
	return v.Show(frame.Page{Name: "settings", Title: "Settings", Nav: pathSettings, Status: status, Data: out})
}

// input returns the form's fields for settings.
func (s settings) input() url.Values {
	out := url.Values{
		"displayName": {s.DisplayName}, "captureMode": {s.CaptureMode}, "checkoutOrigins": {strings.Join(s.CheckoutOrigins, "\n")},
		"brandColor": {s.BrandColor}, "logo": {s.Logo},
	}
	if s.ClientTokenTTL != 0 {
		out.Set("clientTokenTtl", strconv.FormatInt(s.ClientTokenTTL, 10))
	}
	for name, on := range map[string]bool{"first6Digits": s.First6Digits, "refuseRefundOfDisputed": s.RefuseRefundOfDisputed} {
		if on {
			out.Set(name, "yes")
		}
	}
	return out
}

var color = regexp.MustCompile(`^#[0-9a-f]{6}$`)

// read returns the settings that a form asks for.
func read(form *frame.Form) settings {
	s := settings{
		CaptureMode: form.Text("captureMode"), DisplayName: form.Text("displayName"),
		First6Digits: form.Has("first6Digits", "yes"), RefuseRefundOfDisputed: form.Has("refuseRefundOfDisputed", "yes"),
		CheckoutOrigins: strings.Fields(form.Values.Get("checkoutOrigins")),
		BrandColor:      strings.ToLower(form.Text("brandColor")), Logo: form.Text("logo"),
	}
	if form.Has("removeLogo", "yes") {
		s.Logo = ""
	}
	if s.BrandColor != "" && !color.MatchString(s.BrandColor) {
		form.Fault("brandColor", "Write it as #1a7f5a, or nothing for the checkout’s own colour.")
	}
	if text := form.Text("clientTokenTtl"); text != "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil || seconds < account.MinClientTokenTTL || seconds > account.MaxClientTokenTTL {
			form.Fault("clientTokenTtl", "Write whole seconds between "+frame.Number(account.MinClientTokenTTL)+" and "+frame.Number(account.MaxClientTokenTTL)+", or nothing for the default.")
		}
		s.ClientTokenTTL = seconds
	}
	return s
}

// change serves the form: first it compares, then it saves.
func change(v *frame.Visit, now settings, form frame.Form) error {
	wanted := read(&form)
	out := settingsView{Form: form}
	body := map[string]any{}
	for _, f := range fields {
		if f.words(now) != f.words(wanted) {
			body[f.Name] = f.value(wanted)
			out.Compared = append(out.Compared, difference{Text: f.Text, Before: f.words(now), After: f.words(wanted)})
		}
	}
	switch {
	case form.Review:
		out.Compared = nil
		return page(v, now, out, http.StatusOK)
	case !form.Sound():
		out.Compared = nil
		return page(v, now, out, form.Status())
	case len(body) == 0: // also a double click: the first one has saved it
		return v.Redirect(pathSettings, "unchanged")
	case out.Outdated(now.mark(), "The settings have"):
		out.Compared = nil
		return page(v, now, out, http.StatusConflict)
	case form.Text("do") != "save":
		return page(v, now, out, http.StatusOK)
	}
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	sent, err := out.Send(v, http.MethodPatch, apiSettings, body, "", nil, names...)
	if err != nil {
		return err
	}
	if sent {
		return v.Redirect(pathSettings, "saved")
	}
	out.Compared = nil
	return page(v, now, out, out.Status())
}
