package app

import (
	"path/filepath"

	"payledger/cmd/payledger/ledger"
	"payledger/domain"
	"payledger/httpapi/keyuse"
)

const keyUsesFile = "key-uses.json" // in the folder of the views, if there is one

// openKeyUses reads the last uses of API keys. An unreadable file is only logged: the times are
// informative.
func (a *App) openKeyUses() {
	var err error
	file := filepath.Join(a.Options.Data, ledger.ViewsFolder, keyUsesFile)
	if !a.keepsViews() { // it has no such folder
		file = filepath.Join(a.Options.Data, keyUsesFile)
	}
	if a.KeyUses, err = keyuse.Open(file); err != nil {
		a.warnOfUses(err)
	}
}

func (a *App) hasKey(id domain.APIKeyID) bool {
	for _, merchant := range a.Views.Accounts() {
		if _, found := merchant.Key(id); found {
			return true
		}
	}
	return false
}

func (a *App) warnOfUses(err error) {
	a.log.Warn().Err(err).Msg("lastUsedAt of API keys may be too old")
}
