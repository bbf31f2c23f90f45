package frame

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"

	"payledger/httpapi/style"
)

//go:embed templates
var templateFiles embed.FS

//go:embed pages
var ownPages embed.FS

//go:embed assets
var assetFiles embed.FS

func pageFiles() fs.FS {
	sub, err := fs.Sub(ownPages, "pages")
	if err != nil {
		panic(err) // not reached: the folder is embedded
	}
	return sub
}

const pathAssets = "/dashboard/assets/"

// assetTypes are the kinds of files that pages load.
var assetTypes = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
}

type assets struct {
	version string // a hash of all
	files   map[string][]byte
}

func loadAssets() (assets, error) {
	a := assets{files: map[string][]byte{}}
	entries, err := fs.ReadDir(assetFiles, "assets")
	hash := sha256.New()
	for _, entry := range entries { // in the order of their names
		body, failed := assetFiles.ReadFile("assets/" + entry.Name())
		if failed != nil {
			return a, failed
		}
		hash.Write([]byte(entry.Name()))
		hash.Write(body)
		a.files[entry.Name()] = body
	}
	a.files["base.css"] = style.Base()
	hash.Write(style.Base())
	a.version = hex.EncodeToString(hash.Sum(nil)[:8])
	return a, err
}

// ServeAsset answers GET /dashboard/assets/{version}/{file}. At the address of this release a file is kept for ever, at another one it
// is not kept: two nodes may differ while a release is rolled out.
func (f *Frame) ServeAsset(w http.ResponseWriter, r *http.Request) bool {
	name := r.PathValue("file")
	body, known := f.assets.files[name]
	if !known {
		return false
	}
	f.headers(w.Header())
	w.Header().Set("Content-Type", assetTypes[path.Ext(name)])
	if r.PathValue("version") == f.assets.version {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	_, _ = w.Write(body) // the browser may be gone
	return true
}
