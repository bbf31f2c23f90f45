package account

import "strings"

// MaxLogo is the maximum length of a shop's logo in characters of base64. The logo is part of the
// account's state, which every event of the account has beside it: it must be small.
const MaxLogo = 32 << 10

// checkBrand adds the faults of the shop's colour, and of the length of its logo. A logo is checked
// where the request is read: the rules decode no pictures.
func (s Settings) checkBrand(found *faults) {
	if digits, is := strings.CutPrefix(s.BrandColor, "#"); s.BrandColor != "" && (!is || len(digits) != 6 || strings.Trim(digits, "0123456789abcdef") != "") {
		found.add("$.brandColor", "must be a colour as #rrggbb: # and six digits, 0 to 9 and a to f")
	}
	if len(s.Logo) > MaxLogo {
		found.add("$.logo", "must have at most %d characters: a file of at most 24 kB", MaxLogo)
	}
}
