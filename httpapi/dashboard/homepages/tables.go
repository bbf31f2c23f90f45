package homepages

import (
	"cmp"
	"slices"
	"strings"

	"payledger/httpapi/dashboard/frame"
)

// tables are the authorization rates by processor, network and country, the most used first.
func (o *statisticsView) tables(before *statistics) {
	earlier := map[string]authorizations{}
	if before != nil {
		for _, of := range before.ByProcessor {
			earlier["processor "+of.Processor] = of.Authorizations
		}
		for _, of := range before.ByNetwork {
			earlier["network "+of.Network] = of.Authorizations
		}
		for _, of := range before.ByCountry {
			earlier["country "+of.Country] = of.Authorizations
		}
	}
	processors := rateTable{ID: "by-processor", Title: "By processor", Name: "Processor"}
	for _, of := range o.Now.ByProcessor {
		processors.add(of.Processor, of.Authorizations, earlier["processor "+of.Processor])
	}
	networks := rateTable{ID: "by-network", Title: "By card network", Name: "Network"}
	for _, of := range o.Now.ByNetwork {
		networks.add(of.Network, of.Authorizations, earlier["network "+of.Network])
	}
	countries := rateTable{ID: "by-country", Title: "By country of the issuer", Name: "Country"}
	for _, of := range o.Now.ByCountry {
		countries.add(cmp.Or(of.Country, "Not stated"), of.Authorizations, earlier["country "+of.Country])
	}
	for _, t := range []rateTable{processors, networks, countries} {
		slices.SortStableFunc(t.Rows, func(a, b rateRow) int { return cmp.Compare(b.decided(), a.decided()) })
		o.Tables = append(o.Tables, t)
	}
}

func (t *rateTable) add(name string, now, before authorizations) {
	row := rateRow{Name: name, authorizations: now, Percent: percentCell(now.Rate).Text, Before: percentCell(before.Rate).Text}
	if now.Rate != nil {
		row.Bar = *now.Rate * 100
	}
	t.Rows = append(t.Rows, row)
}

func (o *statisticsView) shares() {
	refused := int64(0)
	for _, of := range o.Now.Reasons {
		refused += of.Payments
	}
	for _, of := range o.Now.Reasons {
		o.Reasons = append(o.Reasons, shareOf(frame.Plain(of.Reason), strings.ToLower(of.Status), of.Payments, refused))
	}
	f := o.Now.Funnel
	if f.Sessions+f.Cards+f.Payments > 0 {
		most := max(f.Sessions, f.Cards, f.Payments)
		for _, step := range []struct {
			name, note string
			n, of      int64
		}{
			{"Sessions", "", f.Sessions, 0}, {"Cards entered", "of the sessions", f.Cards, f.Sessions}, {"Payments", "of the cards", f.Payments, f.Cards},
			{"Authorized", "of the payments", f.Authorized, f.Payments}, {"Captured", "of those authorized", f.Captured, f.Authorized},
		} {
			row := shareOf(step.name, step.note, step.n, most)
			row.Percent = percentCell(ratio(step.n, step.of)).Text
			o.Funnel = append(o.Funnel, row)
		}
	}
	c := o.Now.ThreeDSecure
	if all := c.Frictionless + c.Challenged; all > 0 {
		o.Challenges = []share{
			shareOf("Without a challenge", "", c.Frictionless, all), shareOf("Challenge passed", "", c.Passed, all),
			shareOf("Challenge failed or given up", "", c.Failed, all), shareOf("Waiting for the customer", "", c.Waiting, all),
		}
	}
}

func shareOf(name, note string, n, of int64) share {
	s := share{Name: name, Note: note, N: n, Percent: "–"}
	if part := ratio(n, of); part != nil {
		s.Bar, s.Percent = *part*100, percent(*part)
	}
	return s
}
