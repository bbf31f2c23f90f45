package frame

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
)

// TestChartLibrary: the files of the chart library are those of the package uplot 1.6.32 of the npm
// registry.
func TestChartLibrary(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"uPlot-1.6.32.js":          "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
		"uPlot-1.6.32.css":         "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
		"uPlot-1.6.32.LICENSE.txt": "8f989229699b4fe2f1a0432d0e9edc338a8a911e250e2d1b01ecd770a5f5b1bd",
	} {
		body, err := assetFiles.ReadFile("assets/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(body); hex.EncodeToString(sum[:]) != want {
			t.Errorf("%s has the hash %x", name, sum)
		}
		if strings.HasSuffix(name, ".txt") && !strings.Contains(string(body), "MIT License") {
			t.Errorf("%s is no licence", name)
		}
	}
}
