"""Run at a host: sends a broadcast with a number, or prints the number of each that it sees; sends any frame, or prints all."""

import socket
import struct
import sys

# An ethertype for experiments at one site (IEEE 802).
ETHERTYPE = 0x88B5
# Whatever it is (linux/if_ether.h).
ETH_P_ALL = 3


def listen(interface):
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHERTYPE)) as link:
        link.bind((interface, ETHERTYPE))
        print("listening", flush=True)
        while True:
            frame, address = link.recvfrom(2048)
            if address[2] != socket.PACKET_OUTGOING:
                print("saw", struct.unpack("!I", frame[14:18])[0], flush=True)


def hear(interface):
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)) as link:
        link.bind((interface, ETH_P_ALL))
        print("listening", flush=True)
        while True:
            frame, address = link.recvfrom(2048)
            if address[2] != socket.PACKET_OUTGOING:
                print("heard", frame.hex(), flush=True)


def say(interface, frame):
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as link:
        link.bind((interface, 0))
        link.send(frame)


def send(interface, number):
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as link:
        link.bind((interface, 0))
        source = link.getsockname()[4]
        link.send(b"\xff" * 6 + source + struct.pack("!HI", ETHERTYPE, number) + bytes(42))


if __name__ == "__main__":
    if sys.argv[1] == "listen":
        listen(sys.argv[2])
    elif sys.argv[1] == "hear":
        hear(sys.argv[2])
    elif sys.argv[1] == "say":
        say(sys.argv[2], bytes.fromhex(sys.argv[3]))
    else:
        send(sys.argv[2], int(sys.argv[3]))
