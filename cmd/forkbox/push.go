package main

import "github.com/spf13/cobra"

func (a *app) pushVerb() *cobra.Command { return &cobra.Command{Use: "push"} }
func (a *app) pullVerb() *cobra.Command { return &cobra.Command{Use: "pull"} }
