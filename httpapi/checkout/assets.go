package checkout

import (
	"embed"
	"net/http"

	"payledger/httpapi/style"
)

//go:embed assets
var assetFiles embed.FS

// keepNever is the Cache-Control of a file at the address of another release.
const keepNever = "no-store"

// Script returns the script of a shop's page, which pages of all origins may load.
func (p *Pages) Script() Document {
	return Document{Status: http.StatusOK, ContentType: style.ContentType(scriptName), Cache: keepShortly, Body: p.assets.Contents[scriptName], shared: true}
}

// Asset returns a file that a page loads, by the last two parts of its address; false when there is
// none.
func (p *Pages) Asset(version, name string) (Document, bool) {
	if brand, is := brandAsset(name); is {
		return brand, true
	}
	body, known := p.assets.Contents[name]
	if !known {
		return Document{}, false
	}
	found := Document{Status: http.StatusOK, ContentType: style.ContentType(name), Cache: keepNever, Body: body}
	if version == p.assets.Version {
		found.Cache = style.KeepForEver
	}
	return found, true
}
