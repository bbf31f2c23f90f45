package style

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"maps"
	"net/http"
	"path"
	"slices"
)

// KeepForEver is the Cache-Control of a file at the address of its version.
const KeepForEver = "public, max-age=31536000, immutable"

var contentTypes = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
	".txt": "text/plain; charset=utf-8",
}

// ContentType returns the Content-Type of a file by its name.
func ContentType(name string) string { return contentTypes[path.Ext(name)] }

// Unconnected is the content security policy of pages that take their own files, and open no
// connection.
const Unconnected = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'none'; form-action 'none'; " +
	"base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// SetHeaders sets the headers of a public page, or of a file that pages load.
func SetHeaders(h http.Header, contentType, cache, policy string) {
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", cache)
	h.Set("Content-Security-Policy", policy)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
}

// Files are the files that pages load.
type Files struct {
	Version  string // a hash of all names and contents; part of the files' addresses, so that a browser may keep them
	Contents map[string][]byte
}

// Load reads the files of a folder, and the base stylesheet if the pages use it.
func Load(files fs.FS, folder string, withBase bool) (Files, error) {
	all := Files{Contents: map[string][]byte{}}
	if withBase {
		all.Contents["base.css"] = base
	}
	entries, err := fs.ReadDir(files, folder)
	if err != nil {
		return all, err
	}
	for _, e := range entries {
		if all.Contents[e.Name()], err = fs.ReadFile(files, path.Join(folder, e.Name())); err != nil {
			return all, err
		}
	}
	hash := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(all.Contents)) {
		hash.Write([]byte(name))
		hash.Write(all.Contents[name])
	}
	all.Version = hex.EncodeToString(hash.Sum(nil)[:8])
	return all, nil
}
