"""The operator's side: keyboard, gamepad, guided script, status line."""
