"""The commands solo-collect and solo-pretrain."""
