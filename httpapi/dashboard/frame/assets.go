package frame

import (
	"embed"
	"net/http"

	"payledger/httpapi/style"
)

//go:embed templates
var templateFiles embed.FS

//go:embed pages
var ownPages embed.FS

//go:embed assets
var assetFiles embed.FS

const pathAssets = "/dashboard/assets/"

// ServeAsset answers GET /dashboard/assets/{version}/{file}. At the address of this release a file
// is kept for ever, at another one it is not kept: two nodes may differ while a release is rolled
// out.
func (f *Frame) ServeAsset(w http.ResponseWriter, r *http.Request) bool {
	name := r.PathValue("file")
	body, known := f.assets.Contents[name]
	if !known {
		return false
	}
	f.headers(w.Header())
	w.Header().Set("Content-Type", style.ContentType(name))
	if r.PathValue("version") == f.assets.Version {
		w.Header().Set("Cache-Control", style.KeepForEver)
	}
	_, _ = w.Write(body) // the browser may be gone
	return true
}
