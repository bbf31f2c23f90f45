package checkout

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
)

//go:embed assets
var assetFiles embed.FS

// assetTypes are the kinds of files that pages load.
var assetTypes = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
}

// Cache-Control of assets: for ever at the address of this release, never at another.
const (
	keepForEver = "public, max-age=31536000, immutable"
	keepNever   = "no-store"
)

// assets are all files that pages load, by name.
type assets struct {
	version string // a hash of all
	files   map[string]Document
}

func loadAssets() (assets, error) {
	a := assets{files: map[string]Document{}}
	entries, err := fs.ReadDir(assetFiles, "assets")
	hash := sha256.New()
	for _, entry := range entries { // in the order of their names
		body, failed := assetFiles.ReadFile("assets/" + entry.Name())
		if failed != nil {
			return a, failed
		}
		hash.Write([]byte(entry.Name()))
		hash.Write(body)
		a.files[entry.Name()] = Document{
			Status: http.StatusOK, ContentType: assetTypes[path.Ext(entry.Name())], Cache: keepNever, Body: body,
		}
	}
	a.version = hex.EncodeToString(hash.Sum(nil)[:8])
	return a, err
}

// Asset returns a file that a page loads, by the last two parts of its address; false when there is none.
func (p *Pages) Asset(version, name string) (Document, bool) {
	found, known := p.assets.files[name]
	if version == p.assets.version {
		found.Cache = keepForEver
	}
	return found, known
}
