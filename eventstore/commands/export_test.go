package commands

// Spent is how many cards wait to be destroyed.
func (s *Service) Spent() int { return len(s.spent) }
