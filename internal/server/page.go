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
	return list[:limit], makeCursor(key(list[limit-1])), nil
}

// skip leaves out what comes up to the cursor.
func skip[T any](list []T, cursor string, key func(T) (time.Time, string)) ([]T, error) {
	at, id, err := readCursor(cursor)
	if err != nil {
		return nil, badRequest(err)
	}
	newestFirst := len(list) > 1 && first(key(list[0])).After(first(key(list[len(list)-1])))
	for i, item := range list {
		t, own := key(item)
		if own == id {
			return list[i+1:], nil
		}
		if newestFirst && t.Before(at) || !newestFirst && t.After(at) {
			return list[i:], nil
		}
	}
	return nil, nil
}

func first(t time.Time, _ string) time.Time { return t }

func makeCursor(t time.Time, id string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(t.UTC().Format(time.RFC3339Nano) + " " + id))
}

func readCursor(cursor string) (time.Time, string, error) {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	at, id, ok := strings.Cut(string(text), " ")
	if err != nil || !ok {
		return time.Time{}, "", fmt.Errorf("cursor=%q is not the next of an answer", cursor)
	}
	t, err := time.Parse(time.RFC3339Nano, at)
	if err != nil {
		return time.Time{}, "", fmt.Errorf("cursor=%q is not the next of an answer", cursor)
	}
	return t, id, nil
}
