export const price = async (day: string): Promise<number> => {
  return 4;
};

export function fee(boat: Boat) {
  return price(boat.day);
}

func (d *Dock) Open() error {
