package books

import (
	"fmt"
	"hash/fnv"
	"strings"

	"payledger/domain/processor"
)

// token returns the token of a card at a processor: the same for the same card, expiry and merchant
// account, tok_<processor>_<row>_<expiry>_<check>. The check ties it to them, so that the books
// need not store it.
func (c *card) token(at processor.Name, merchant, month, year string) string {
	text := strings.ToLower("tok_"+string(at)+"_"+c.name) + "_" + year + month
	h := fnv.New32a()
	_, _ = h.Write([]byte(text + "\x00" + merchant))
	return fmt.Sprintf("%s_%08x", text, h.Sum32())
}

// formToken marks a token as that of the processor's own form: tok_form_<row>_<expiry>. Every
// processor takes it.
const formToken = "form"

// given returns the token that the answer to an operation gives; "" if it gives none. Only the
// first answer under a key has it.
func given(op processor.Operation, row *card, answer processor.Answer) string {
	if row == nil || !op.Tokenize || op.Card == nil || answer.State != processor.Succeeded {
		return ""
	}
	_, of, _ := cardOf(op)
	return row.token(op.Processor, op.MerchantID, of.ExpirationMonth, of.ExpirationYear)
}

// cardOf returns the row of an operation's card, and the card as its number or its token gives it;
// false for a token that is not one of this processor and merchant account.
func cardOf(op processor.Operation) (row *card, of processor.Card, known bool) {
	if op.Card.Token == "" {
		return cardsByNumber[op.Card.Number], *op.Card, true
	}
	parts := strings.Split(op.Card.Token, "_")
	if len(parts) < 4 || len(parts[3]) != len("203112") {
		return nil, of, false
	}
	row = cardsByName[parts[2]]
	of.ExpirationYear, of.ExpirationMonth = parts[3][:4], parts[3][4:]
	if row != nil && len(parts) == 4 && parts[1] == formToken {
		return row, of, true
	}
	if row == nil || row.behaviour == forgetsToken || op.Card.Token != row.token(op.Processor, op.MerchantID, of.ExpirationMonth, of.ExpirationYear) {
		return nil, of, false
	}
	return row, of, true
}
