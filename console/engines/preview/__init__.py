"""What a commit would apply: from files of a repository to objects, from two states of an object to what differs. Pure."""
