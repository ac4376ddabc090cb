// Package providertest is the suite that every provider passes, and the
// benchmarks it is measured with. A provider is in when
//
//	func TestMain(m *testing.M) { os.Exit(providertest.Main(m, nil)) }
//	func TestProvider(t *testing.T) { providertest.Run(t, fixture) }
//	func BenchmarkProvider(b *testing.B) { providertest.Bench(b, fixture) }
//
// passes. The suite branches on what a provider says it can do ([Traits]),
// never on which one it is. [Lab] is also there for a provider's own tests.
package providertest
