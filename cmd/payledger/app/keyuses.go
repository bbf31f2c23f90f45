package app

import (
	"path/filepath"

	"payledger/cmd/payledger/ledger"
	"payledger/domain"
	"payledger/httpapi/keyuse"
)

const keyUsesFile = "key-uses.json" // in the folder of the views

// openKeyUses reads the last uses of API keys. An unreadable file is only logged: the times are informative.
func (a *App) openKeyUses() {
	var err error
	if a.KeyUses, err = keyuse.Open(filepath.Join(a.Options.Data, ledger.ViewsFolder, keyUsesFile)); err != nil {
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
