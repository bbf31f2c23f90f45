package account

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"payledger/domain"
	"payledger/domain/processor"
)

// Capture modes (D5).
const (
	CaptureManual    = "MANUAL"
	CaptureAutomatic = "AUTOMATIC" // an authorized payment is captured at once
)

// Limits of the life of client tokens, in seconds: a minute, 30 days.
const (
	MinClientTokenTTL = 60
	MaxClientTokenTTL = 30 * 24 * 60 * 60
)

// MaxDisplayName is the maximum length of a display name in characters.
const MaxDisplayName = 64

// MaxCheckoutOrigins is the maximum number of origins in the list.
const MaxCheckoutOrigins = 20

// MaxMerchantID is the maximum length of a processorMerchantId in characters.
const MaxMerchantID = 255

// Settings are the merchant's switches (D20).
type Settings struct {
	First6Digits   bool   `json:"first6Digits,omitempty"`   // answer first6Digits (§2.2: opt-in)
	CaptureMode    string `json:"captureMode,omitempty"`    // MANUAL when empty (D5)
	ClientTokenTTL int64  `json:"clientTokenTtl,omitempty"` // seconds (D4); 0: the service's own
	DisplayName    string `json:"displayName,omitempty"`    // shown to customers (D12); "": none

	RefuseRefundOfDisputed bool     `json:"refuseRefundOfDisputed,omitempty"` // refuse refunds beside a dispute that is open or lost (D22.2)
	CheckoutOrigins        []string `json:"checkoutOrigins,omitempty"`        // of pages that may make the browser's calls (D22.6); none: all
	BrandColor             string   `json:"brandColor,omitempty"`             // of the hosted page's buttons (D12), as #rrggbb; "": ours
	Logo                   string   `json:"logo,omitempty"`                   // of the hosted page, a PNG file in base64; "": none
}

// Capture returns the capture mode, by default MANUAL (D5).
func (s Settings) Capture() string { return cmp.Or(s.CaptureMode, CaptureManual) }

// AutoCapture reports whether authorized payments are captured at once (D5).
func (s Settings) AutoCapture() bool { return s.CaptureMode == CaptureAutomatic }

// TokenTTL returns the lifetime of client tokens (D4); service is the service's default.
func (s Settings) TokenTTL(service time.Duration) time.Duration {
	return cmp.Or(time.Duration(s.ClientTokenTTL)*time.Second, service)
}

// ChangeSettings is the command to change settings; nil fields stay as they are.
type ChangeSettings struct {
	At             time.Time `json:"-"`
	First6Digits   *bool     `json:"first6Digits"`
	CaptureMode    *string   `json:"captureMode"`
	ClientTokenTTL *int64    `json:"clientTokenTtl"` // seconds; 0: the service's default
	DisplayName    *string   `json:"displayName"`    // "": none

	RefuseRefundOfDisputed *bool     `json:"refuseRefundOfDisputed"`
	CheckoutOrigins        *[]string `json:"checkoutOrigins"` // none: all
	BrandColor             *string   `json:"brandColor"`      // "": none
	Logo                   *string   `json:"logo"`            // "": none
}

// DecideChangeSettings changes settings; the event is nil if nothing differs.
func DecideChangeSettings(s State, c ChangeSettings) (Event, error) {
	next := s.Settings
	next.First6Digits = valueOr(c.First6Digits, next.First6Digits)
	next.CaptureMode = valueOr(c.CaptureMode, next.Capture())
	next.ClientTokenTTL = valueOr(c.ClientTokenTTL, next.ClientTokenTTL)
	next.DisplayName = valueOr(c.DisplayName, next.DisplayName)
	next.RefuseRefundOfDisputed = valueOr(c.RefuseRefundOfDisputed, next.RefuseRefundOfDisputed)
	next.CheckoutOrigins = slices.Clone(valueOr(c.CheckoutOrigins, next.CheckoutOrigins))
	if len(next.CheckoutOrigins) == 0 {
		next.CheckoutOrigins = nil
	}
	next.BrandColor = strings.ToLower(valueOr(c.BrandColor, next.BrandColor))
	next.Logo = valueOr(c.Logo, next.Logo)
	var found faults
	if next.CaptureMode != CaptureManual && next.CaptureMode != CaptureAutomatic {
		found.add("$.captureMode", "must be one of %s, %s", CaptureManual, CaptureAutomatic)
	}
	if ttl := next.ClientTokenTTL; ttl != 0 && (ttl < MinClientTokenTTL || ttl > MaxClientTokenTTL) {
		found.add("$.clientTokenTtl", "must be an integer between %d and %d", MinClientTokenTTL, MaxClientTokenTTL)
	}
	if !validDisplayName(next.DisplayName) {
		found.add("$.displayName", "must have 1 to %d characters, none of them invisible, and no space at an end", MaxDisplayName)
	}
	next.checkOrigins(&found)
	next.checkBrand(&found)
	if len(found) > 0 {
		return nil, domain.Invalid("SettingsRequest", found...)
	}
	before := s.Settings
	if before.CaptureMode = before.Capture(); next.equal(before) {
		return nil, nil
	}
	return SettingsChanged{At: c.At, Settings: next}, nil
}

// checkOrigins adds a fault for each origin that no browser sends, and for a repeated one.
func (s Settings) checkOrigins(found *faults) {
	if len(s.CheckoutOrigins) > MaxCheckoutOrigins {
		found.add("$.checkoutOrigins", "must have at most %d elements", MaxCheckoutOrigins)
		return
	}
	for i, origin := range s.CheckoutOrigins {
		path := fmt.Sprintf("$.checkoutOrigins[%d]", i)
		switch wanted := originOf(origin); {
		case slices.Contains(s.CheckoutOrigins[:i], origin):
			found.add(path, "is there twice")
		case wanted == "":
			found.add(path, "must be an origin as browsers send it: https://host or https://host:port, http in place of https, and nothing after it")
		case wanted != origin:
			found.add(path, "must be an origin as browsers send it: %s", wanted)
		}
	}
}

// originOf returns the origin of a URL as browsers send it: in lower case, without a default port
// and a path. "" if the text is no such URL.
func originOf(text string) string {
	scheme, rest, found := strings.Cut(strings.ToLower(text), "://")
	usual, known := map[string]string{"https": "443", "http": "80"}[scheme]
	if !found || !known {
		return ""
	}
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	rest = rest[strings.LastIndex(rest, "@")+1:]
	host, port, allowed := rest, "", "abcdefghijklmnopqrstuvwxyz0123456789.-_"
	if colon := strings.LastIndex(rest, ":"); colon > strings.LastIndex(rest, "]") {
		host, port = rest[:colon], rest[colon+1:]
	}
	name := host
	if inner, is := strings.CutPrefix(host, "["); is {
		name, is = strings.CutSuffix(inner, "]")
		if allowed = "abcdef0123456789:."; !is {
			return ""
		}
	}
	number, err := strconv.ParseUint(cmp.Or(port, usual), 10, 16)
	if err != nil || number == 0 || name == "" || strings.ContainsFunc(name, func(r rune) bool { return !strings.ContainsRune(allowed, r) }) {
		return ""
	}
	if port = strconv.FormatUint(number, 10); port != usual {
		host += ":" + port
	}
	return scheme + "://" + host
}

// equal reports whether two settings are the same.
func (s Settings) equal(o Settings) bool {
	return s.First6Digits == o.First6Digits && s.CaptureMode == o.CaptureMode && s.ClientTokenTTL == o.ClientTokenTTL && s.DisplayName == o.DisplayName &&
		s.RefuseRefundOfDisputed == o.RefuseRefundOfDisputed && slices.Equal(s.CheckoutOrigins, o.CheckoutOrigins) &&
		s.BrandColor == o.BrandColor && s.Logo == o.Logo
}

// validDisplayName rejects line breaks, control characters and characters that change the text
// direction.
func validDisplayName(name string) bool {
	visible := func(r rune) bool { return strconv.IsPrint(r) && r != utf8.RuneError }
	return utf8.RuneCountInString(name) <= MaxDisplayName && strings.TrimSpace(name) == name &&
		!strings.ContainsFunc(name, func(r rune) bool { return !visible(r) })
}

// ChangeProcessor is the command to change the merchant account at a processor; nil fields stay as
// they are.
type ChangeProcessor struct {
	At         time.Time      `json:"-"`
	Name       processor.Name `json:"-"`
	Enabled    *bool          `json:"enabled"`
	MerchantID *string        `json:"processorMerchantId"`
}

// DecideChangeProcessor changes the merchant account; the event is nil if nothing differs. Existing
// payments keep theirs.
func DecideChangeProcessor(s State, c ChangeProcessor) (Event, error) {
	before, known := s.Processor(c.Name)
	if !known {
		return nil, domain.Refuse(domain.KindNotFound, domain.ReasonEntityNotFound, "There is no processor of this name.")
	}
	next := before
	next.Enabled, next.MerchantID = valueOr(c.Enabled, next.Enabled), valueOr(c.MerchantID, next.MerchantID)
	switch {
	case next == before:
		return nil, nil
	case next.MerchantID == "" || utf8.RuneCountInString(next.MerchantID) > MaxMerchantID:
		return nil, domain.InvalidAt("ProcessorAccountRequest", "$.processorMerchantId", "must have 1 to %d characters", MaxMerchantID)
	}
	return ProcessorChanged{At: c.At, Processor: next}, nil
}

func valueOr[T any](sent *T, before T) T {
	if sent == nil {
		return before
	}
	return *sent
}
