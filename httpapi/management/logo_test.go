package management

import (
	"bytes"
	"encoding/base64"
	"errors"
	"image"
	"image/png"
	"strings"
	"testing"

	"payledger/domain"
)

// picture returns a PNG file in base64, with more bytes behind it.
func picture(t *testing.T, width, height int, behind string) string {
	t.Helper()
	var file bytes.Buffer
	if err := png.Encode(&file, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(append(file.Bytes(), behind...))
}

// TestLogo: a logo is a PNG file of a bounded size and nothing else.
func TestLogo(t *testing.T) {
	t.Parallel()
	good := picture(t, 1200, 600, "")
	for _, text := range []string{"", good} {
		if err := checkLogo(text); err != nil {
			t.Errorf("%.20s: %v", text, err)
		}
	}
	const form, size = "must be a PNG file in base64", "must be at most 1200 pixels wide and 600 high"
	for text, want := range map[string]string{
		"x": form, "####": form, base64.StdEncoding.EncodeToString([]byte("<svg onload=alert(1)>")): form, good[:len(good)/8*4]: form,
		picture(t, 1, 1, "<script>"): form, "data:image/png;base64," + good: form, "https://shop.example/logo.png": form, good + "\n": form,
		picture(t, 1201, 1, ""): size, picture(t, 1, 601, ""): size,
	} {
		var refused *domain.Error
		if err := checkLogo(text); !errors.As(err, &refused) || len(refused.Violations) != 1 || !strings.Contains(refused.Violations[0].Description, want) {
			t.Errorf("%.30s: %v, want %q", text, err, want)
		}
	}
}
