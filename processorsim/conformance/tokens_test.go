package conformance_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"

	"payledger/domain/processor"
)

// cardOf returns the card of an operation.
func cardOf(op map[string]any) map[string]any {
	card, _ := op["card"].(map[string]any)
	return card
}

var approvedCard = map[string]any{"number": "4242424242424242", "expirationMonth": "12", "expirationYear": "2031"}

func tokenMutants() []mutant {
	authorized := posted(processor.Authorize)
	without := func(name string) func(http.Handler) http.Handler {
		return edited(anything, func(a map[string]any) {
			delete(a, name)
			if inner, has := a["answer"].(map[string]any); has {
				delete(inner, name)
			}
		})
	}
	return []mutant{
		{name: "no card has a token", breaks: breaks("token.given", "token.repeat", "token.list"), wrap: without("processorToken")},
		{name: "a token is spent", breaks: breaks("token.given"), wrap: edited(authorized, func(a map[string]any) {
			if a["cardTokenType"] == "PROCESSOR_TOKEN" {
				for name := range a {
					delete(a, name)
				}
				a["state"], a["code"], a["at"] = "FAILED", "token_unknown", "2026-03-01T12:00:00Z"
			}
		})},
		{name: "nothing is said of what was used", breaks: breaks("token.given", "token.network"), wrap: without("cardTokenType")},
		{name: "every card is stored", breaks: breaks("token.unasked"), wrap: requests(authorized, func(op map[string]any) { op["tokenize"] = true })},
		{name: "an unknown token is some card", breaks: breaks("token.unknown"), wrap: requests(authorized, func(op map[string]any) {
			if token, _ := cardOf(op)["processorToken"].(string); strings.HasPrefix(token, "payledger") {
				op["card"] = approvedCard
			}
		})},
		{name: "an unknown token is an invalid request", breaks: breaks("token.unknown"), wrap: answers(authorized, func(a *answer) {
			if strings.Contains(a.body, "token_unknown") {
				a.status, a.body = http.StatusUnprocessableEntity, `{"error":{"code":"invalid_request","message":"no such token"}}`
			}
		})},
		{name: "a refusal repeats the token", breaks: breaks("token.unknown"), wrap: answers(authorized, func(a *answer) {
			var op struct{ Card processor.Card }
			if json.Unmarshal([]byte(a.sent), &op) == nil && strings.Contains(a.body, "token_unknown") {
				a.body = strings.Replace(a.body, `"code":`, `"message":"no such token: `+op.Card.Token+`","code":`, 1)
				a.body = strings.Replace(a.body, `,"message":"the card's token is not known"`, "", 1)
			}
		})},
		{name: "a connector that declares no tokens takes them", breaks: breaks("token.unknown"), wrap: edited(declared, func(d map[string]any) {
			d["cannot"] = []any{map[string]any{"capability": "tokens", "instead": "Numbers travel."}}
		})},
		{name: "a token is another operation", breaks: breaks("token.repeat"), wrap: func(next http.Handler) http.Handler {
			var mu sync.Mutex
			numbers := map[string]bool{}
			return answers(authorized, func(a *answer) {
				mu.Lock()
				defer mu.Unlock()
				key := a.request.Header.Get("Idempotency-Key")
				if byToken := strings.Contains(a.sent, `"processorToken"`); !byToken {
					numbers[key] = true
				} else if numbers[key] {
					a.status, a.body = http.StatusUnprocessableEntity, `{"error":{"code":"key_reused","message":"another card"}}`
				}
			})(next)
		}},
		{name: "a forgotten token is another card", breaks: breaks("token.forgotten"), wrap: requests(authorized, func(op map[string]any) {
			if token, _ := cardOf(op)["processorToken"].(string); strings.Contains(token, "forgets") {
				op["card"] = approvedCard
			}
		})},
		{name: "a list has the tokens", breaks: breaks("token.list"), wrap: func(next http.Handler) http.Handler {
			var mu sync.Mutex
			given := ""
			return answers(anything, func(a *answer) {
				mu.Lock()
				defer mu.Unlock()
				var one struct{ ProcessorToken string }
				if authorized(a.request, a.sent) && json.Unmarshal([]byte(a.body), &one) == nil && one.ProcessorToken != "" {
					given = one.ProcessorToken
				}
				if listed(a.request, "") && given != "" {
					a.body = strings.Replace(a.body, `"answer":{`, `"answer":{"processorToken":"`+given+`",`, 1)
				}
			})(next)
		}},
	}
}
