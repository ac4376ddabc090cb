package server

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// page is the part of a list that a request asks for, and where the next begins;
// empty after the last. A list is ordered by its time, up or down, so that a
// cursor holds its place also when what it names is gone.
func page[T any](r *http.Request, list []T, key func(T) (time.Time, string)) (part []T, next string, err error) {
	limit, cursor := int(numberOf(r, "limit")), r.URL.Query().Get("cursor")
	if cursor != "" {
		if list, err = skip(list, cursor, key); err != nil {
			return nil, "", err
		}
	}
	if limit == 0 || limit >= len(list) {
		return notNil(list), "", nil
	}
	t, id := key(list[limit-1])
	return list[:limit], makeCursor(t, id, newestFirst(list, key)), nil
}

// skip leaves out what comes up to the cursor.
func skip[T any](list []T, cursor string, key func(T) (time.Time, string)) ([]T, error) {
	at, id, down, err := readCursor(cursor)
	if err != nil {
		return nil, badRequest(err)
	}
	for i, item := range list {
		t, own := key(item)
		if own == id {
			return list[i+1:], nil
		}
		if down && t.Before(at) || !down && t.After(at) {
			return list[i:], nil
		}
	}
	return nil, nil
}

// newestFirst says which way a list goes. A cursor keeps that: of what is left of the
// list later it cannot be told.
func newestFirst[T any](list []T, key func(T) (time.Time, string)) bool {
	first, _ := key(list[0])
	last, _ := key(list[len(list)-1])
	return first.After(last)
}

func makeCursor(t time.Time, id string, down bool) string {
	way := "+"
	if down {
		way = "-"
	}
	return base64.RawURLEncoding.EncodeToString([]byte(way + t.UTC().Format(time.RFC3339Nano) + " " + id))
}

func readCursor(cursor string) (at time.Time, id string, down bool, err error) {
	broken := fmt.Errorf("cursor=%q is not the next of an answer", cursor)
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	when, id, ok := strings.Cut(string(text), " ")
	if err != nil || !ok || when[:min(1, len(when))] != "+" && when[:min(1, len(when))] != "-" {
		return at, "", false, broken
	}
	if at, err = time.Parse(time.RFC3339Nano, when[1:]); err != nil {
		return at, "", false, broken
	}
	return at, id, when[0] == '-', nil
}
