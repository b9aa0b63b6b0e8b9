"""Three small programs that use Callboard. Each is a package of actors, and a program that submits tasks to them."""
