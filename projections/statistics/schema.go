package statistics

import (
	"slices"

	"payledger/domain/payment"
	"payledger/domain/processor"
)

const microsPerDay = 24 * 60 * 60 * 1_000_000

// Tables is the table of the counts, with its triggers. day counts days since 1970 UTC. A group
// without payments has no row.
const Tables = `
CREATE TABLE statistics (
	account       TEXT    NOT NULL,
	day           INTEGER NOT NULL,
	currency      TEXT    NOT NULL,
	status        TEXT    NOT NULL,
	processor     TEXT    NOT NULL,
	tries         INTEGER NOT NULL,
	payments      INTEGER NOT NULL,
	amount_high   INTEGER NOT NULL,
	amount_low    INTEGER NOT NULL,
	captured_high INTEGER NOT NULL,
	captured_low  INTEGER NOT NULL,
	refunded_high INTEGER NOT NULL,
	refunded_low  INTEGER NOT NULL,
	PRIMARY KEY (account, day, currency, status, processor, tries)
) WITHOUT ROWID;
CREATE TRIGGER payments_counted AFTER INSERT ON payments BEGIN` + countNew + `END;
CREATE TRIGGER payments_moved AFTER UPDATE OF status, amount, processor, tries, captured, refunded ON payments
WHEN (OLD.status, OLD.amount, OLD.processor, OLD.tries, OLD.captured, OLD.refunded) IS NOT
	(NEW.status, NEW.amount, NEW.processor, NEW.tries, NEW.captured, NEW.refunded) BEGIN` + uncountOld + countNew + `END;
`

// A payment enters and leaves a group. OLD and NEW are its rows before and after the change.
const (
	countNew = `
	INSERT INTO statistics (account, day, currency, status, processor, tries, payments, amount_high, amount_low,
		captured_high, captured_low, refunded_high, refunded_low)
	VALUES (NEW.account, NEW.created_at / 86400000000, NEW.currency, NEW.status, NEW.processor, NEW.tries, 1,
		NEW.amount >> 32, NEW.amount & 4294967295, NEW.captured >> 32, NEW.captured & 4294967295, NEW.refunded >> 32, NEW.refunded & 4294967295)
	ON CONFLICT DO UPDATE SET payments = payments + 1,
		amount_high = amount_high + excluded.amount_high, amount_low = amount_low + excluded.amount_low,
		captured_high = captured_high + excluded.captured_high, captured_low = captured_low + excluded.captured_low,
		refunded_high = refunded_high + excluded.refunded_high, refunded_low = refunded_low + excluded.refunded_low;
`
	oldGroup = `account = OLD.account AND day = OLD.created_at / 86400000000 AND currency = OLD.currency AND status = OLD.status
		AND processor = OLD.processor AND tries = OLD.tries`
	uncountOld = `
	UPDATE statistics SET payments = payments - 1,
		amount_high = amount_high - (OLD.amount >> 32), amount_low = amount_low - (OLD.amount & 4294967295),
		captured_high = captured_high - (OLD.captured >> 32), captured_low = captured_low - (OLD.captured & 4294967295),
		refunded_high = refunded_high - (OLD.refunded >> 32), refunded_low = refunded_low - (OLD.refunded & 4294967295)
	WHERE ` + oldGroup + `;
	DELETE FROM statistics WHERE ` + oldGroup + ` AND payments = 0;
`
)

type outcome int64

const (
	none     outcome = iota // not tried there, not decided yet, or released before an answer
	approved                // also the authorization of the amount 0, and one that was voided later
	declined                // by the issuer
	failed                  // the processor states that it did nothing, or its key was fenced after no answer
)

const outcomeBits = 2

// Tries returns the outcomes of a payment's authorizations at all processors as one number: two
// bits for each processor, in the order of processor.Names, which only ever grows at its end. A
// route names a processor once.
func Tries(s *payment.State) (tries int64) {
	for i := range s.Operations { // an authorization never leaves the state
		op := &s.Operations[i]
		if op.Kind != processor.Authorize {
			continue
		}
		var to outcome
		switch op.State {
		case payment.StateSucceeded:
			to = approved
		case payment.StateDeclined:
			to = declined
		case payment.StateFailed:
			to = failed
		default:
			continue
		}
		if place := slices.Index(processor.Names, op.Target.Processor); place >= 0 {
			tries = tries&^(3<<(outcomeBits*place)) | int64(to)<<(outcomeBits*place)
		}
	}
	return tries
}

func outcomeAt(tries int64, place int) outcome { return outcome(tries >> (outcomeBits * place) & 3) }
