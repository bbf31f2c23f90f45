package commands

import (
	"payledger/domain"
)

// spentQueue is how many cards may wait to be destroyed; what does not fit is left to the sweep.
const spentQueue = 8192

// discard has a card destroyed soon: its outcome is known, nobody needs it any more.
func (s *Service) discard(name domain.SecretID) {
	select {
	case s.spent <- name:
	default:
	}
}

// destroyCards overwrites spent cards, beside the payments rather than in their way. One that a crash
// leaves behind is found by the sweep at the next start.
func (s *Service) destroyCards() {
	for {
		select {
		case name := <-s.spent:
			if err := s.Vault.Destroy(s.ctx, name); err != nil && s.ctx.Err() == nil {
				s.Logger.Warn().Err(err).Msg("card not destroyed; the next sweep will")
			}
		case <-s.ctx.Done():
			return
		}
	}
}
