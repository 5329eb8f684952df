"""The operator's side: keyboard, gamepad, questions at the terminal."""
