package dashboard

import (
	"fmt"
	"image/color"
	"strings"

	"github.com/boombuler/barcode/qr"
)

// qrQuiet is the width of the empty border, in modules.
const qrQuiet = 4

// qrPath returns the dark modules of a QR code as the path of an SVG, and the width of the code
// with its border, in modules.
func qrPath(text string) (path string, size int, err error) {
	code, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		return "", 0, fmt.Errorf("dashboard: a QR code: %w", err)
	}
	bounds := code.Bounds()
	var b strings.Builder
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			if code.At(x, y) == color.Black || color.GrayModel.Convert(code.At(x, y)).(color.Gray).Y < 128 {
				fmt.Fprintf(&b, "M%d %dh1v1h-1z", x+qrQuiet, y+qrQuiet)
			}
		}
	}
	return b.String(), bounds.Dx() + 2*qrQuiet, nil
}
