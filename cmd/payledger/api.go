package main

import (
	"crypto/rand"

	"payledger/domain"
	"payledger/httpapi"
	"payledger/projections/history"
)

// apiConfig ties the HTTP interface to the parts behind it.
func (a *App) apiConfig() httpapi.Config {
	return httpapi.Config{
		Commands: a.commands, Reader: a.views,
		History: &history.Reader{
			Store: a.ledger.store, Vault: a.ledger.vault, Running: true, First6Digits: a.first6Digits,
		},
		ClientTokenKey: a.ledger.derive("client tokens"), PublicURL: a.options.PublicURL,
		Environment: a.options.Environment, Now: a.clock, Random: rand.Reader, Logger: a.log,
		Ready: a.healthy, RateLimit: a.options.RateLimit,
		CheckURL: a.notifierConfig().Guard().CheckURL,
	}
}

func (a *App) first6Digits(id domain.AccountID) bool {
	merchant, known := a.views.Account(id)
	return known && merchant.Settings.First6Digits
}
