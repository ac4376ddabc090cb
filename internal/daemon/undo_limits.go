package daemon

import (
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
)

// undoLimits reads how long, and how many bytes of, what applies replaced is
// kept: FORKBOX_UNDO_AGE ("336h", "14d") and FORKBOX_UNDO_SIZE ("10G"). Zero is
// the default.
func undoLimits() (age time.Duration, size int64, err error) {
	if text := os.Getenv("FORKBOX_UNDO_AGE"); text != "" {
		if age, err = parseAge(text); err != nil {
			return 0, 0, err
		}
	}
	if text := os.Getenv("FORKBOX_UNDO_SIZE"); text != "" {
		size, err = parseSize(text)
	}
	return age, size, err
}

func parseAge(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n > 0 && n < 100000 {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	} else if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return d, nil
	}
	return 0, forkbox.Errorf(forkbox.Invalid, "read FORKBOX_UNDO_AGE", "%q is not an age", text).Hint("for example 336h or 14d")
}

func parseSize(text string) (int64, error) {
	digits, unit := strings.TrimRight(text, "kKMGTiB"), int64(1)
	switch strings.TrimRight(strings.TrimPrefix(text, digits), "iB") {
	case "":
	case "k", "K":
		unit = 1 << 10
	case "M":
		unit = 1 << 20
	case "G":
		unit = 1 << 30
	case "T":
		unit = 1 << 40
	default:
		unit = 0
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || unit == 0 || n <= 0 || n > (1<<62)/unit {
		return 0, forkbox.Errorf(forkbox.Invalid, "read FORKBOX_UNDO_SIZE", "%q is not a size", text).Hint("for example 500M or 10G")
	}
	return n * unit, nil
}
