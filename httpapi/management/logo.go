package management

import (
	"bytes"
	"encoding/base64"
	"image/png"
	"strings"

	"payledger/domain"
	"payledger/domain/account"
)

// Limits of a logo's sides in pixels.
const (
	maxLogoWidth  = 1200
	maxLogoHeight = 600
)

// pngEnd is the last chunk of a PNG file.
var pngEnd = []byte("\x00\x00\x00\x00IEND\xaeB\x60\x82")

// checkLogo refuses a logo that is no PNG file in base64, or is too large; "" is none. The whole
// picture is decoded, after its size is known: a browser gets nothing that is no picture.
func checkLogo(text string) error {
	refused := domain.InvalidAt("SettingsRequest", "$.logo", "must be a PNG file in base64")
	if text == "" || len(text) > account.MaxLogo { // the length is the account's rule
		return nil
	}
	file, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || strings.ContainsAny(text, "\r\n") { // the decoder skips line ends
		return refused
	}
	size, err := png.DecodeConfig(bytes.NewReader(file))
	if err != nil {
		return refused
	}
	if size.Width > maxLogoWidth || size.Height > maxLogoHeight {
		return domain.InvalidAt("SettingsRequest", "$.logo", "must be at most %d pixels wide and %d high", maxLogoWidth, maxLogoHeight)
	}
	if _, err := png.Decode(bytes.NewReader(file)); err != nil || !bytes.HasSuffix(file, pngEnd) {
		return refused
	}
	return nil
}
